/** `deploy/backup.ts` and `deploy/restore.ts` on the running service, with SQLite. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { launch, type Test, test } from '../launcher/launch.ts';
import { RestClient } from '../support/rest-client.ts';
import { until } from '../support/until.ts';
import { backup, keepAdding, run } from './backups.ts';

test('Backup - is made during writes and can be restored, without later writes', async (t) => {
  const { settings, folder } = places(t);
  const first = launch(t);
  const { url, key } = await first.opened();
  const client = new RestClient(url, key);
  const id = await client.pet();
  const adding = keepAdding(client);
  await until(async () => (await client.get('/pets?limit=100')).body.length > 5, 'pets');
  const file = await backup(folder, settings);
  await adding.stop();
  const later = await client.category('Later');
  await first.end('SIGTERM');

  t.deepEqual(await run('restore', [file], settings), { code: 0, output: `restored ${file}\n`, errors: '' });
  const again = await launch(t).opened();
  const restored = new RestClient(again.url, key);
  t.is((await restored.get(`/pets?ids=${id}`)).body[0].id, id);
  t.is((await restored.get(`/categories/${later}`)).status, 404);
  t.true((await restored.get('/pets?limit=100')).body.length > 5);
  t.is((await restored.post('/categories', { name: 'Written after the restore' })).status, 201);
  t.true(readdirSync(settings.DATA_DIR ?? '').includes('petstore.sqlite.before-restore'));
});

test('Backup - contains the operator key, readable by its owner only', async (t) => {
  const { settings, folder } = places(t);
  const launcher = launch(t);
  await launcher.opened();
  const file = await backup(folder, settings);
  await launcher.end('SIGTERM');
  const key = readFileSync(join(settings.DATA_DIR ?? '', 'operator.key'), 'utf8');
  for (const name of readdirSync(folder)) t.is(statSync(join(folder, name)).mode & 0o777, 0o600, name);
  t.is(statSync(folder).mode & 0o777, 0o700);

  const elsewhere = { ...settings, DATA_DIR: join(dirname(folder), 'another machine') };
  t.is((await run('restore', [file], elsewhere)).code, 0);
  t.is(readFileSync(join(elsewhere.DATA_DIR, 'operator.key'), 'utf8'), key);
  t.is(statSync(join(elsewhere.DATA_DIR, 'petstore.sqlite')).mode & 0o777, 0o600);
});

test('Backup - --keep deletes the oldest backups, and no other file of the folder', async (t) => {
  const { settings, folder } = places(t);
  const launcher = launch(t);
  await launcher.opened();
  await backup(folder, settings);
  for (const name of ['petstore-20260101T000000Z.sqlite', 'petstore-20260101T000000Z.operator.key', 'notes.sqlite']) {
    writeFileSync(join(folder, name), '');
  }
  t.is((await run('backup', ['--to', folder, '--keep', '1'], settings)).code, 0);
  const left = readdirSync(folder);
  t.deepEqual(left.filter((name) => name.endsWith('.sqlite')).length, 2);
  t.true(left.includes('notes.sqlite'));
  t.false(left.some((name) => name.includes('20260101')));
});

test('Restore - is refused while the service runs, and changes nothing', async (t) => {
  const { settings, folder } = places(t);
  const launcher = launch(t);
  await launcher.opened();
  const file = await backup(folder, settings);
  const { code, errors } = await run('restore', [file], settings);
  t.is(code, 1);
  t.regex(errors, /^petstore: \S.* is in use by another service, process \d+: stop that one.*\n$/);
  t.false(readdirSync(settings.DATA_DIR ?? '').some((name) => name.includes('restor')));
});

test('Restore - a file of another engine, a missing file and no file are refused with one line', async (t) => {
  const { settings, folder } = places(t);
  mkdirSync(folder);
  const dump = join(folder, 'petstore.dump');
  writeFileSync(dump, '');
  for (const [args, line] of [
    [[dump], /^petstore: \S.*petstore\.dump is not a backup of the engine that the settings name: SQLite .+\n$/],
    [[join(folder, 'none.sqlite')], /^petstore: there is no .*none\.sqlite\n$/],
    [[], /^petstore: name one backup: node deploy\/restore\.ts FILE\n$/],
  ] as const) {
    const { code, errors } = await run('restore', args, settings);
    t.is(code, 1);
    t.regex(errors, line);
  }
});

test('Restore - a damaged backup is refused, and the data is unchanged', async (t) => {
  const { settings, folder } = places(t);
  const first = launch(t);
  const { url, key } = await first.opened();
  const id = await new RestClient(url, key).pet();
  const file = await backup(folder, settings);
  await first.end('SIGTERM');
  const bytes = readFileSync(file);
  bytes.fill(0x55, 4_096, 20_480);
  writeFileSync(file, bytes);
  const { code, errors } = await run('restore', [file], settings);
  t.is(code, 1);
  t.regex(errors, /^petstore: .+\n$/);
  const again = await launch(t).opened();
  t.is((await new RestClient(again.url, key).get(`/pets?ids=${id}`)).body[0].id, id);
});

test('Backup - a DATA_DIR without data, and bad options, end with one line', async (t) => {
  const { settings, folder } = places(t);
  for (const [args, line] of [
    [['--to', folder], /^petstore: there is no .*petstore\.sqlite: is DATA_DIR the service's\?\n$/],
    [[], /^petstore: --to must name the folder of the backups\n$/],
    [['--to', folder, '--keep', '0'], /^petstore: --keep must be a number from 1 to 9999\n$/],
  ] as const) {
    const { code, errors } = await run('backup', args, settings);
    t.is(code, 1);
    t.regex(errors, line);
  }
});

function places(t: Test): { readonly settings: Readonly<Record<string, string>>; readonly folder: string } {
  const { settings } = t.context;
  return { settings, folder: join(dirname(settings.DATA_DIR ?? ''), 'backups') };
}
