/** `deploy/backup.ts`, `deploy/drill.ts` and `deploy/restore.ts` on the running service, with SQLite. */
import { chownSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { launch, launchForAll, type Test, test } from '../launcher/launch.ts';
import { startLoad } from '../support/calls/load.ts';
import { temporaryFolder } from '../support/scope.ts';
import { Program } from '../support/service/process.ts';
import { until } from '../support/until.ts';
import { backup, fails, makeStore, run, succeeds } from './backups.ts';

const shared = launchForAll();
/** What the first test makes: a backup, a pet that is in it, and a category that is not. */
let file = '';
let petId = 0;
let later = 0;

test.serial('Backup - is made during writes, with the operator key, readable by its owner only', async (t) => {
  const { launcher, rest: client, folder: dataDir } = shared;
  petId = await client.pet();
  const adding = startLoad(1, async () => String(await client.pet()), { pauseMs: 0 });
  await until(async () => (await client.get('/pets?limit=100')).body.length > 5, 'pets');
  const folder = join(dirname(dataDir), 'backups');
  file = await backup(folder, launcher.settings);
  await adding.stop();
  for (const answer of adding.answers.keys()) t.regex(answer, /^\d+$/, 'no write failed');
  later = await client.category('Later');
  for (const name of readdirSync(folder)) t.is(statSync(join(folder, name)).mode & 0o777, 0o600, name);
  t.is(statSync(folder).mode & 0o777, 0o700);

  const elsewhere = { ...launcher.settings, DATA_DIR: join(dirname(dataDir), 'another machine') };
  await succeeds(t, run('restore', [file], elsewhere));
  const [one, other] = [dataDir, elsewhere.DATA_DIR].map((place) => readFileSync(join(place, 'operator.key'), 'utf8'));
  t.is(one, other);
  t.is(statSync(join(elsewhere.DATA_DIR, 'petstore.sqlite')).mode & 0o777, 0o600);
});

test.serial('Drill - restores the newest backup beside the running service', async (t) => {
  const [folder, TMPDIR] = [dirname(file), temporaryFolder(t)];
  const settings = { ...shared.launcher.settings, TMPDIR };
  const output = await succeeds(t, run('drill', ['--from', folder], settings));
  const [categories = '', orders, pets = '', last = ''] = output.split('\n');
  t.regex(categories, /^categories {2}(\d+) in the backup, \1 served, \d+ now$/);
  t.regex(pets, /^pets {8}(\d+) in the backup, \1 served, \d+ now$/);
  t.is(orders, 'orders      0 in the backup, 0 served, 0 now');
  t.true(last.startsWith(`${basename(file)} can be restored. It took `), last);

  const bad = join(folder, 'petstore-99990101T000000Z.sqlite');
  writeFileSync(bad, '');
  const line = /^petstore: \S+petstore-99990101T000000Z\.sqlite is no backup of the pet store.*\n$/;
  await fails(t, run('drill', ['--from', folder], settings), line);
  rmSync(bad);
  t.deepEqual(readdirSync(TMPDIR), [], 'no copy is left');
});

test.serial('Drill - that is interrupted leaves nothing behind', async (t) => {
  const TMPDIR = temporaryFolder(t);
  const env = { ...process.env, ...shared.launcher.settings, TMPDIR };
  const drill = new Program(process.execPath, ['deploy/drill.ts', '--from', dirname(file)], { env });
  await until(() => readdirSync(TMPDIR, { recursive: true }).join().includes('drill.log'), 'its server');
  t.deepEqual(await drill.end('SIGINT'), { code: 1, signal: null });
  t.is(drill.errors, 'petstore: ended by SIGINT\n');
  t.deepEqual(readdirSync(TMPDIR), []);
});

test.serial('Restore - is refused while the service runs, and changes nothing', async (t) => {
  const line = /^petstore: \S.* is in use by another service: stop that one.*\n$/;
  await fails(t, run('restore', [file], shared.launcher.settings), line);
  t.false(readdirSync(shared.folder).some((name) => name.includes('restor')));
});

test.serial('Backup - is made during writes and can be restored, without later writes', async (t) => {
  const { launcher, key, folder: dataDir } = shared;
  await launcher.end('SIGTERM');
  const damaged = `${file}-damaged.sqlite`;
  writeFileSync(damaged, readFileSync(file).fill(0x55, 4_096, 20_480));
  await fails(t, run('restore', [damaged], launcher.settings), /^petstore: .+\n$/);
  for (const name of readdirSync(dataDir)) t.false(name.startsWith('before-restore-'), 'a damaged one changes nothing');

  const output = await succeeds(t, run('restore', [file], launcher.settings));
  t.true(output.startsWith(`restored ${file}\n`), output);
  const restored = (await launch(t, launcher.settings).opened()).rest.withKey(key);
  t.is((await restored.get(`/pets?ids=${petId}`)).body[0].id, petId);
  t.is((await restored.get(`/categories/${later}`)).status, 404);
  t.true((await restored.get('/pets?limit=100')).body.length > 5);
  t.is((await restored.post('/categories', { name: 'Written after the restore' })).status, 201);
  t.true(readdirSync(dataDir).some((name) => name.startsWith('before-restore-')));
});

test('Backup - --keep deletes the oldest backups and no other file, also after a clock was set back', async (t) => {
  const { settings, folder } = await places(t);
  mkdirSync(folder);
  const named = (date: string) => `petstore-${date}T000000Z`;
  const old = ['20260101', '99980101', '99990101'].map((date) => `${named(date)}.sqlite`);
  const files = [...old, `${named('20260101')}.operator.key`, 'notes.sqlite'];
  for (const name of files) writeFileSync(join(folder, name), '');
  const made = basename((await succeeds(t, run('backup', ['--to', folder, '--keep', '2'], settings))).trim());
  const left = [made, made.replace('.sqlite', '.operator.key'), `${named('99990101')}.sqlite`, 'notes.sqlite'];
  t.deepEqual(readdirSync(folder).sort(), left.sort());
});

(process.getuid?.() === 0 ? test : test.skip)(
  'Backup and restore - as another user than the service are refused, as it could not read what they write',
  async (t) => {
    const { settings, dataDir, folder } = await places(t);
    const file = await backup(folder, settings);
    chownSync(dataDir, 65_534, 65_534);
    const line = /^petstore: \S.* belongs to another user: .+\n$/;
    await fails(t, run('backup', ['--to', folder], settings), line);
    await fails(t, run('restore', [file], settings), line);
    t.false(readdirSync(dataDir).some((name) => name.startsWith('before-restore-')));
  },
);

test('Backup - leaves its result and time for the metrics, and deletes what killed runs left', async (t) => {
  const { settings, dataDir, folder } = await places(t);
  mkdirSync(folder);
  const [killed, running] = ['20260101', '20260102'].map((day) => join(folder, `petstore-${day}T000000Z.dump.part`));
  for (const file of [killed ?? '', running ?? '']) writeFileSync(file, '');
  utimesSync(killed ?? '', 1_000_000, 1_000_000);
  const file = await backup(folder, settings);
  const found = readdirSync(folder).filter((name) => name.includes('.part'));
  t.deepEqual(found, [basename(running ?? '')]);
  const metrics = () => readFileSync(join(dataDir, 'backup.prom'), 'utf8').match(/^[^#].*$/gm) ?? [];
  const [made, success = ''] = metrics();
  t.is(made, 'petstore_backup_failed 0');
  const [, time] = /^petstore_backup_last_success_timestamp_seconds ([\d.]+)$/.exec(success) ?? [];
  t.true(Math.abs(Number(time) - Date.now() / 1_000) < 60, success);

  writeFileSync(join(dataDir, 'petstore.sqlite'), Buffer.alloc(8_192, 'no database '));
  const line = /^petstore: .+petstore\.sqlite can't be copied to .+: file is not a database\n$/;
  const fail = () => fails(t, run('backup', ['--to', folder, '--keep', '1'], settings), line);
  for (let nights = 2; nights > 0; nights -= 1) {
    await fail();
    t.deepEqual(metrics(), ['petstore_backup_failed 1', success]);
  }
  rmSync(join(dataDir, 'backup.prom'));
  mkdirSync(join(dataDir, 'backup.prom')); // the metrics can't be written
  await fail();
  t.true(readdirSync(folder).includes(basename(file)));
});

test('Backup - of those in one second each has a name of its own', async (t) => {
  const { settings, folder } = await places(t);
  const made = await Promise.all([1, 2, 3].map(() => backup(folder, settings)));
  t.is(new Set(made).size, 3);
  t.is(readdirSync(folder).length, 6, 'each with its key');
});

async function places(t: Test) {
  const { settings } = t.context;
  const dataDir = settings.DATA_DIR ?? '';
  await makeStore(dataDir, 'mine');
  return { settings, dataDir, folder: join(dirname(dataDir), 'backups') };
}
