/** `deploy/backup.ts` and `deploy/restore.ts` on the running service, with SQLite. */
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch, type Test, test } from '../launcher/launch.ts';
import { RestClient } from '../support/rest-client.ts';
import { until } from '../support/until.ts';
import { backup, keepAdding, run } from './backups.ts';
import { makeStore } from './stores.ts';

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

  const { code, output, errors } = await run('restore', [file], settings);
  t.deepEqual({ code, errors }, { code: 0, errors: '' });
  t.true(output.startsWith(`restored ${file}\n`), output);
  const again = await launch(t).opened();
  const restored = new RestClient(again.url, key);
  t.is((await restored.get(`/pets?ids=${id}`)).body[0].id, id);
  t.is((await restored.get(`/categories/${later}`)).status, 404);
  t.true((await restored.get('/pets?limit=100')).body.length > 5);
  t.is((await restored.post('/categories', { name: 'Written after the restore' })).status, 201);
  t.true(readdirSync(settings.DATA_DIR ?? '').some((name) => name.startsWith('before-restore-')));
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

test('Backup - a clock that was set back does not make the new backup the oldest one', async (t) => {
  const { settings, folder } = places(t);
  await makeStore(settings.DATA_DIR ?? '', 'mine');
  mkdirSync(folder);
  for (const year of [9_998, 9_999]) writeFileSync(join(folder, `petstore-${year}0101T000000Z.sqlite`), '');
  const { code, output } = await run('backup', ['--to', folder, '--keep', '2'], settings);
  t.is(code, 0);
  const left = readdirSync(folder).filter((name) => name.endsWith('.sqlite'));
  t.deepEqual(left.sort(), [basename(output.trim()), 'petstore-99990101T000000Z.sqlite']);
});

(process.getuid?.() === 0 ? test : test.skip)(
  'Backup and restore - as another user than the service are refused, as it could not read what they write',
  async (t) => {
    const { settings, folder } = places(t);
    const dataDir = settings.DATA_DIR ?? '';
    await makeStore(dataDir, 'mine');
    const file = await backup(folder, settings);
    chownSync(dataDir, 65_534, 65_534);
    for (const ended of [await run('backup', ['--to', folder], settings), await run('restore', [file], settings)]) {
      t.is(ended.code, 1);
      t.regex(ended.errors, /^petstore: \S.* belongs to another user: .+\n$/);
    }
    t.false(readdirSync(dataDir).some((name) => name.startsWith('before-restore-')));
  },
);

test('Drill - runs from a folder with a space in its path', async (t) => {
  const { settings, folder } = places(t);
  await makeStore(settings.DATA_DIR ?? '', 'mine');
  rmSync(join(settings.DATA_DIR ?? '', 'operator.key')); // it is none
  await backup(folder, settings);
  const copy = join(dirname(folder), 'pet store');
  const root = new URL('../../', import.meta.url);
  for (const name of ['deploy', 'src', 'gen', 'envoy', 'package.json']) {
    cpSync(new URL(name, root), join(copy, name), { recursive: true });
  }
  symlinkSync(fileURLToPath(new URL('node_modules', root)), join(copy, 'node_modules'));
  const drill = await run('drill', ['--from', folder], settings, join(copy, 'deploy'));
  t.is(drill.code, 0, drill.errors);
});

test('Backup - leaves its result and time for the metrics, and deletes what killed runs left', async (t) => {
  const { settings, folder } = places(t);
  const dataDir = settings.DATA_DIR ?? '';
  await makeStore(dataDir, 'mine');
  mkdirSync(folder);
  const [killed, running] = ['20260101', '20260102'].map((day) => join(folder, `petstore-${day}T000000Z.dump.part`));
  for (const file of [killed ?? '', running ?? '']) writeFileSync(file, '');
  utimesSync(killed ?? '', 1_000_000, 1_000_000);
  const file = await backup(folder, settings);
  t.deepEqual(
    readdirSync(folder).filter((name) => name.includes('.part')),
    [basename(running ?? '')],
  );
  const metrics = () =>
    readFileSync(join(dataDir, 'backup.prom'), 'utf8')
      .split('\n')
      .filter((line) => !line.startsWith('#'));
  const [made, success = ''] = metrics();
  t.is(made, 'petstore_backup_failed 0');
  const [, time] = /^petstore_backup_last_success_timestamp_seconds ([\d.]+)$/.exec(success) ?? [];
  t.true(Math.abs(Number(time) - Date.now() / 1_000) < 60, success);

  writeFileSync(join(dataDir, 'petstore.sqlite'), 'damaged');
  for (let nights = 2; nights > 0; nights -= 1) {
    t.is((await run('backup', ['--to', folder, '--keep', '1'], settings)).code, 1);
    t.deepEqual(metrics(), ['petstore_backup_failed 1', success, '']);
  }
  t.true(existsSync(file));
});

test('Drill - restores the newest backup beside the running service, and reads all of it from a server', async (t) => {
  const { settings, folder } = places(t);
  const { url, key } = await launch(t).opened();
  const client = new RestClient(url, key);
  await client.pet();
  const file = await backup(folder, settings);
  await client.category('Later');
  const drill = await run('drill', ['--from', folder], settings);
  t.is(drill.code, 0, drill.errors);
  const [categories, pets, orders, last = ''] = drill.output.split('\n');
  t.is(categories, 'categories  1 in the backup, 1 served, 2 now');
  t.is(pets, 'pets        1 in the backup, 1 served, 1 now');
  t.is(orders, 'orders      0 in the backup, 0 served, 0 now');
  t.true(last.startsWith(`${basename(file)} can be restored. It took `), last);

  writeFileSync(join(folder, 'petstore-99990101T000000Z.sqlite'), '');
  const failed = await run('drill', ['--from', folder], settings);
  t.deepEqual([failed.code, failed.output], [1, '']);
  t.regex(failed.errors, /^petstore: \S+petstore-99990101T000000Z\.sqlite is no backup of the pet store.*\n$/);
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
