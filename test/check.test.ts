/** `npm run check`, with parts of its own, and parts of it that judge by rules of ours. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { problemOf } from '../scripts/patterns/judge.ts';
import { patternsOfLua } from '../scripts/patterns/lua.ts';
import { literalsOf } from '../scripts/patterns/script.ts';
import { ROOT } from '../src/platform/launcher/paths.ts';
import { temporaryFolder } from './support/machine/folder.ts';

test('npm run check - tells what each part that fails says, and then exits with 1', (t) => {
  const cwd = temporaryFolder(t);
  const check = (scripts: Readonly<Record<string, string>>) => {
    writeFileSync(join(cwd, 'package.json'), JSON.stringify({ scripts }));
    const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'scripts/check.ts')], { cwd, encoding: 'utf8' });
    return { status, said: stderr.split(/\n*--- /).map((part) => part.trim()) };
  };
  t.deepEqual(check({ 'check:one': 'echo well', build: 'exit 1' }), { status: 0, said: [''] });
  const parts = { 'check:one': 'echo bad; exit 1 && echo worse >&2; exit 2', 'check:two': 'echo well' };
  const { status, said } = check({ ...parts, 'check:three': 'exit 3' });
  t.is(status, 1);
  t.deepEqual(said.toSorted(), ['', 'check:one\nbad', 'check:one\nworse', 'check:three']);
});

test('npm run check - knows a pattern that is not linear, in TypeScript and in Lua', async (t) => {
  const sources = [
    ['const [, a, b] = /^(.*)\\.(.*)$/.exec(text) ?? /x/;', ['2nd degree polynomial', undefined]],
    ['const end = text.replace(/(a|a)*$/u, "");', ['exponential']],
  ] as const;
  const inLua = [
    ['local A = "^(%-?)(%d+)%.?(%d*)[eE]?([+-]?%d*)$"\nlocal sign = n:match(A)', ['3rd degree polynomial']],
    ['return x:find("%s*$"), (y or ""):gsub(\'^[ \\t]*([^]%a"])\', "*")', ['2nd degree polynomial', undefined]],
  ] as const;
  const all = [
    ...sources.map(([source, expected]) => [literalsOf(source), expected] as const),
    ...inLua.map(([source, expected]) => [patternsOfLua(source, []), expected] as const),
  ];
  for (const [literals, expected] of all) {
    const problems = await Promise.all(literals.map(problemOf));
    const found = problems.map((problem) => /takes (.*?)( \(fuzz\))? time/.exec(problem ?? '')?.[1]);
    t.deepEqual(found, [...expected], literals.join());
  }
  t.throws(() => patternsOfLua('x:find(y.z)', ['pattern']), { message: /y\.z/ });
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
  const { stderr } = spawnSync(process.execPath, [join(ROOT, 'scripts/check-docs.ts')], { cwd, encoding: 'utf8' });
  t.deepEqual(
    stderr.trim().split('\n'),
    ['gen/a.ts', 'gen/b/'].map((path) => `page.md: there is no ${path}`),
  );
});

test('npm run check - finds each script that does not install first, in a shell of its own, and end with exec', (t) => {
  const cwd = temporaryFolder(t);
  const check = (scripts: Readonly<Record<string, string>>) => {
    writeFileSync(join(cwd, 'package.json'), JSON.stringify({ scripts }));
    const { stderr } = spawnSync(process.execPath, [join(ROOT, 'scripts/check-scripts.ts')], { cwd, encoding: 'utf8' });
    return [...stderr.matchAll(/the script "(\w+)" must have the form/g)].map(([, name]) => name);
  };
  const run = '(node scripts/bootstrap.mjs) && A=b exec node x.ts';
  const tools = '(node scripts/bootstrap.mjs tools) && node x.ts && exec ava';
  t.deepEqual(check({ run, tools, one: 'npm run tools && ava', two: 'C=yes npm test', 'check:one': 'tsc' }), []);
  const wrong = {
    ...{
      none: 'exec node x.ts',
      late: `ava && ${tools}`,
      unknown: tools.replace('tools', 'tool'),
      other: 'npm exec x',
    },
    ...{ hashed: run.replace(/[()]/g, ''), stays: tools.replace('exec ', ''), early: `${run} && ava` },
  };
  t.deepEqual(check({ run, ...wrong }), Object.keys(wrong));
});
