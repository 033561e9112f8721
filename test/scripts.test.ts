/** Scripts of package.json: `generate` in a copy of what it reads, and `sql`. check.test.ts has `check`. */
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import test from 'ava';
import { ROOT } from '../src/platform/launcher/paths.ts';
import { temporaryFolder } from './support/scope.ts';

const INPUTS = ['proto', 'third_party', 'src', 'scripts', 'docs', 'gen', 'buf.yaml', 'config'];
const PETS = 'proto/petstore/v1/pets.proto';
const REFUSED = 'message NewPet {\n  // One.\n  string colour = 9 [(buf.validate.field).string.prefix = "x"];\n';

test('Generation - a failure says what is wrong in one line, and changes nothing', (t) => {
  const copy = temporaryFolder(t);
  for (const name of [...INPUTS, 'package.json']) cpSync(`${ROOT}/${name}`, `${copy}/${name}`, { recursive: true });
  symlinkSync(`${ROOT}/node_modules`, `${copy}/node_modules`);
  const PATH = `${ROOT}/node_modules/.bin:${process.env.PATH}`;
  const generate = () =>
    spawnSync(process.execPath, ['scripts/generate.ts'], { cwd: copy, encoding: 'utf8', env: { PATH } });
  const isAsInRepository = () => {
    const paths = [`${ROOT}/gen`, `${copy}/gen`];
    t.is(spawnSync('diff', ['-rq', ...paths], { encoding: 'utf8' }).stdout, '');
  };
  const pets = `${copy}/${PETS}`;
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

test('npm run sql - prints each statement of the tables by its name, those of every resource too', (t) => {
  const { stdout } = spawnSync(process.execPath, ['scripts/sql.ts'], { encoding: 'utf8' });
  const names = [...stdout.matchAll(/^(\S+)\n {2}\S/gm)].map(([, name]) => name);
  const resources = ['accounts', 'api_keys', 'categories', 'orders', 'pets'];
  const ofResource = ['by_ids', 'delete', 'insert', 'lock', 'page:', 'update'];
  const others = [
    ...['api_keys.by_hash', 'bans.in_force', 'bans.of_keys', 'bans.page:account_id', 'bans.put'],
    ...['events.bounds', 'events.delete_oldest', 'events.look_at_oldest', 'seen_events.page:'],
    ...['by_ids', 'delete_oldest', 'insert', 'look_at_oldest'].map((name) => `idempotency_records.${name}`),
    ...['key_uses.by_keys', 'key_uses.of_account', 'key_uses.put', 'orders.open', 'orders.open_units'],
    ...['pets.in_category', 'usage.delete_before', 'usage.of_account', 'usage.of_day', 'usage.put'],
  ];
  const all = [...resources.flatMap((table) => ofResource.map((name) => `${table}.${name}`)), ...others];
  t.deepEqual(names, all.toSorted());
});
