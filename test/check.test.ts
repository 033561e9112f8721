/** `npm run check`, with parts of its own, and parts of it that judge by rules of ours. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { patternsOfEnvoy, problemOfStates } from '../scripts/patterns/envoy.ts';
import { problemOf } from '../scripts/patterns/judge.ts';
import { patternsOfLua } from '../scripts/patterns/lua.ts';
import { literalsOf } from '../scripts/patterns/script.ts';
import { ROOT } from '../src/platform/launcher/paths.ts';
import { temporaryFolder } from './support/scope.ts';

const run = (script: string, cwd: string) =>
  spawnSync(process.execPath, [join(ROOT, `scripts/${script}.ts`)], { cwd, encoding: 'utf8' });

test('npm run check - tells what each part that fails says, and then exits with 1', (t) => {
  const cwd = temporaryFolder(t);
  const check = (scripts: Readonly<Record<string, string>>) => {
    writeFileSync(join(cwd, 'package.json'), JSON.stringify({ scripts }));
    const { status, stderr } = run('check', cwd);
    return { status, said: stderr.split(/\n*--- /).map((part) => part.trim()) };
  };
  t.deepEqual(check({ 'check:one': 'echo well', build: 'exit 1' }), { status: 0, said: [''] });
  const parts = { 'check:one': 'echo bad; exit 1 && echo worse >&2; exit 2', 'check:two': 'echo well' };
  const { status, said } = check({ ...parts, 'check:three': 'exit 3' });
  t.is(status, 1);
  t.deepEqual(said.toSorted(), ['', 'check:one\nbad', 'check:one\nworse', 'check:three']);
});

test('npm run check - knows a pattern that is not linear, in TypeScript and in Lua', async (t) => {
  const inLua = (source: string) => patternsOfLua(source, []);
  for (const [read, source, expected] of [
    [literalsOf, 'const [, a, b] = /^(.*)\\.(.*)$/.exec(text) ?? /x/;', ['2nd degree polynomial', undefined]],
    [literalsOf, 'const end = text.replace(/(a|a)*$/u, "");', ['exponential']],
    [inLua, 'local A = "^(%-?)(%d+)%.?(%d*)[eE]?([+-]?%d*)$"\nlocal sign = n:match(A)', ['3rd degree polynomial']],
    [inLua, 'return x:find("%s*$"), (y or ""):gsub(\'^[ \\t]*([^]%a"])\', "*")', ['2nd degree polynomial', undefined]],
  ] as const) {
    const literals = read(source);
    const problems = await Promise.all(literals.map(problemOf));
    const found = problems.map((problem) => /takes (.*?)( \(fuzz\))? time/.exec(problem ?? '')?.[1]);
    t.deepEqual(found, [...expected], literals.join());
  }
  t.throws(() => patternsOfLua('x:find(y.z)', ['pattern']), { message: /y\.z/ });
});

test('npm run check - knows a pattern of which RE2 makes many states, and finds those of Envoy', (t) => {
  const overlapping = '/grpc(\\+.{0,60})?\\s{0,20}(;.{0,200})?/ui';
  t.regex(problemOfStates(overlapping) ?? '', /more than 500 states/);
  t.is(problemOfStates('/grpc(\\+[^;\\s]*)?\\s*(;.*)?/ui'), undefined);
  const found = patternsOfEnvoy();
  for (const part of ['application\\/grpc', '0-9a-f-', 'stats', '){20}'])
    t.true(
      found.some((one) => one.includes(part)),
      part,
    );
});

test('npm run check - tells each path in the pages that names no file', (t) => {
  const cwd = temporaryFolder(t);
  mkdirSync(join(cwd, 'gen/openapi'), { recursive: true });
  writeFileSync(join(cwd, 'gen/openapi/openapi.json'), '{"paths":{},"components":{"headers":{}}}');
  writeFileSync(
    join(cwd, 'page.md'),
    '`gen/a.ts` `gen/openapi/` `gen/*/*.json` `gen/b/` `a/b` `gen/{openapi,c}/openapi.json`',
  );
  spawnSync('sh', ['-c', 'git init -q && git add .'], { cwd });
  const lines = ['gen/a.ts', 'gen/b/'].map((path) => `page.md: there is no ${path}`);
  t.deepEqual(run('check-docs', cwd).stderr.trim().split('\n'), lines);
});

test('npm run check - finds each script that does not install first, in a shell of its own, and end with exec', (t) => {
  const cwd = temporaryFolder(t);
  const check = (scripts: Readonly<Record<string, string>>) => {
    writeFileSync(join(cwd, 'package.json'), JSON.stringify({ scripts }));
    const { stderr } = run('check-scripts', cwd);
    return [...stderr.matchAll(/the script "(\w+)" must have the form/g)].map(([, name]) => name);
  };
  const good = '(node scripts/bootstrap.mjs) && A=b exec node x.ts';
  const tools = '(node scripts/bootstrap.mjs tools) && node x.ts && exec ava';
  t.deepEqual(check({ good, tools, one: 'npm run tools && ava', two: 'C=yes npm test', 'check:one': 'tsc' }), []);
  const wrong = {
    ...{
      none: 'exec node x.ts',
      late: `ava && ${tools}`,
      unknown: tools.replace('tools', 'tool'),
      other: 'npm exec x',
    },
    ...{ hashed: good.replace(/[()]/g, ''), stays: tools.replace('exec ', ''), early: `${good} && ava` },
  };
  t.deepEqual(check({ good, ...wrong }), Object.keys(wrong));
});
