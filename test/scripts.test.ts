/** Scripts of package.json: `check` with parts of its own, `generate` in a copy of what it reads, and `sql`. */
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { problemOf } from '../scripts/patterns/judge.ts';
import { patternsOfLua } from '../scripts/patterns/lua.ts';
import { literalsOf } from '../scripts/patterns/script.ts';
import { ROOT } from '../src/platform/launcher/paths.ts';
import { temporaryFolder } from './support/machine/folder.ts';

const INPUTS = ['proto', 'third_party', 'src', 'scripts', 'docs', 'gen', 'buf.yaml', 'config'];
const PETS = 'proto/petstore/v1/pets.proto';
const REFUSED = 'message NewPet {\n  // One.\n  string colour = 9 [(buf.validate.field).string.prefix = "x"];\n';

test('Generation - a failure says what is wrong in one line, and changes nothing', (t) => {
  const copy = temporaryFolder(t);
  for (const name of [...INPUTS, 'package.json']) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  const PATH = `${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`;
  const generate = () =>
    spawnSync(process.execPath, ['scripts/generate.ts'], { cwd: copy, encoding: 'utf8', env: { PATH } });
  const isAsInRepository = () => {
    const paths = [join(ROOT, 'gen'), join(copy, 'gen')];
    t.is(spawnSync('diff', ['-rq', ...paths], { encoding: 'utf8' }).stdout, '');
  };
  const pets = join(copy, PETS);
  const before = readFileSync(pets, 'utf8');
  writeFileSync(pets, before.replace('message NewPet {\n', REFUSED));
  const { status, stderr } = generate();
  t.is(status, 1);
  const [fault, rest, ...more] = stderr.trimEnd().split('\n');
  t.regex(fault ?? '', /field petstore\.v1\.NewPet\.colour: the document does not support the rule prefix$/);
  t.is(rest, 'Nothing was generated: gen and docs/settings.md are as before');
  t.deepEqual(more, []);
  isAsInRepository();
  writeFileSync(pets, before.replace('message NewPet {\n', 'message NewPet {\n  Colour colour = 9;\n'));
  t.regex(generate().stderr, /^proto\/petstore\/v1\/pets\.proto:\d+:\d+:cannot find `Colour` in this scope\n/);
  isAsInRepository();
});

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
    t.deepEqual(
      problems.map((problem) => /takes (.*?)( \(fuzz\))? time/.exec(problem ?? '')?.[1]),
      [...expected],
      literals.join(),
    );
  }
  t.throws(() => patternsOfLua('x:find(y.z)', ['pattern']), { message: /y\.z/ });
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

test('npm run sql - prints each statement of the tables by its name, those of every resource too', (t) => {
  const { stdout } = spawnSync(process.execPath, ['scripts/sql.ts'], { encoding: 'utf8' });
  const names = [...stdout.matchAll(/^(\S+)\n {2}\S/gm)].map(([, name]) => name);
  const resources = ['accounts', 'api_keys', 'categories', 'orders', 'pets'];
  const ofResource = ['by_ids', 'delete', 'insert', 'lock', 'page:', 'update'];
  const others = [
    ...['api_keys.by_hash', 'bans.in_force', 'bans.of_keys', 'bans.page:account_id', 'bans.put', 'bans.remove'],
    ...['events.bounds', 'events.delete_oldest', 'events.look_at_oldest', 'events.page:'],
    ...['by_ids', 'delete_oldest', 'insert', 'look_at_oldest'].map((name) => `idempotency_records.${name}`),
    ...['key_uses.by_keys', 'key_uses.of_account', 'key_uses.put', 'orders.open', 'orders.open_units'],
    ...['pets.in_category', 'usage.delete_before', 'usage.of_account', 'usage.of_day', 'usage.put'],
  ];
  const all = [...resources.flatMap((table) => ofResource.map((name) => `${table}.${name}`)), ...others];
  t.deepEqual(names, all.toSorted());
});
