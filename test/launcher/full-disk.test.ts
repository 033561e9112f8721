/** The service on a disk that fills up, is full when it starts, and has room again. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Launcher } from '../support/launcher.ts';
import { RestClient } from '../support/rest-client.ts';
import { SmallDisk } from '../support/small-disk.ts';
import { until } from '../support/until.ts';
import { launch, refusedWith, type Test, test } from './launch.ts';

const onLinux = process.platform === 'linux' ? test.serial : test.serial.skip;

/** A small disk, and settings that put the data folder on it. */
function disk(t: Test): { readonly small: SmallDisk; readonly settings: Readonly<Record<string, string>> } {
  const small = new SmallDisk();
  t.teardown(() => small.remove());
  return { small, settings: { DATA_DIR: join(small.path, 'data'), LOG_LEVEL: 'debug' } };
}

/** The processes that write to the disk. */
async function writers(launcher: Launcher): Promise<number[]> {
  return [launcher.pid, ...(await launcher.servers()).map(({ pid }) => pid)];
}

/** Creates categories until `shouldContinue` returns false. Resolves with the names of the acknowledged ones, by id. */
async function create(rest: RestClient, shouldContinue: (status: number) => boolean): Promise<Map<number, string>> {
  const created = new Map<number, string>();
  const createNext = async () => {
    for (;;) {
      const name = `Kind ${created.size} ${'x'.repeat(150)}`;
      const { status, body, headers } = await rest.post('/categories', { name, description: 'y'.repeat(1_500) });
      if (status === 201) created.set(body.id, body.name);
      else if (status !== 503 || body.code !== 'UNAVAILABLE' || !headers.has('retry-after')) {
        throw new Error(`a write got ${status}: ${JSON.stringify(body)}`);
      }
      if (!shouldContinue(status)) return;
    }
  };
  await Promise.all(Array.from({ length: 4 }, createNext));
  return created;
}

/** Whether all acknowledged categories exist. */
async function allExist(rest: RestClient, created: ReadonlyMap<number, string>): Promise<boolean> {
  for (const [id, name] of created) {
    const { status, body } = await rest.get(`/categories/${id}`);
    if (status !== 200 || body.name !== name) return false;
  }
  return true;
}

onLinux('Full disk - writes get 503, reads work, no process ends, and no acknowledged write is lost', async (t) => {
  const { small, settings } = disk(t);
  const launcher = launch(t, settings);
  const { url, key } = await launcher.opened();
  const rest = new RestClient(url, key);
  const before = await launcher.pair();
  const pids = await writers(launcher);

  let count = 0;
  const acknowledged = await create(rest, () => ++count < 400); // enough for a checkpoint of the write-ahead log
  small.fill(pids);
  let refusals = 0;
  const shouldContinue = (status: number) => {
    if (status === 503) refusals += 1;
    return refusals < 40;
  };
  for (const [id, name] of await create(rest, shouldContinue)) acknowledged.set(id, name);
  t.true(await allExist(rest, acknowledged));
  t.is((await rest.get('/categories')).status, 200);
  t.is((await fetch(`${url}/healthz`)).status, 200);
  t.deepEqual(await launcher.pair(), before);

  small.free(pids);
  await until(async () => (await rest.post('/categories', { name: 'Again' })).status === 201, 'a write');
  count = 0;
  for (const [id, name] of await create(rest, () => ++count < 400)) acknowledged.set(id, name);
  t.true(await allExist(rest, acknowledged));
  t.deepEqual(await launcher.pair(), before);
  const logLines = () =>
    readFileSync(join(settings.DATA_DIR ?? '', 'logs/server.log'), 'utf8')
      .trimEnd()
      .split('\n');
  const isBack = async () => {
    await rest.post('/categories', { name: 'Back' });
    return logLines().some((line) => line.includes('the database is back'));
  };
  await until(isBack, 'the log line');
  t.deepEqual(await launcher.end('SIGTERM'), { code: 0, signal: null });

  const lines = logLines().map((line) => JSON.parse(line));
  t.true(
    lines.some(({ dropped }) => dropped > 0),
    'the log says how many lines were dropped',
  );
  const again = launch(t, settings);
  await again.opened();
  t.true(await allExist(rest, acknowledged));
});

onLinux('Start on a full disk - fails with one line that names the folder without room', async (t) => {
  const { small, settings } = disk(t);
  const folder = settings.DATA_DIR ?? '';
  const first = launch(t, settings);
  await first.opened();
  await first.end('SIGTERM');
  small.fill([process.pid]);
  const [old, fresh] = [launch(t, settings), launch(t, { ...settings, DATA_DIR: join(small.path, 'new') })];
  if (!small.isForAll) small.free([process.pid]); // the started processes keep the limit
  const remedy = 'make room there, or set DATA_DIR to a folder on another disk$';
  await refusedWith(t, old, new RegExp(`^there is no room to write in ${folder} \\(.+\\): ${remedy}`));
  await refusedWith(t, fresh, new RegExp(`^there is no room to write in ${small.path}/new \\(.+\\): ${remedy}`));
  small.free([process.pid]);
  await launch(t, settings).opened();
});

onLinux('Deaths on a full disk - Envoy is restarted, and the server as soon as there is room', async (t) => {
  const { small, settings } = disk(t);
  const launcher = launch(t, settings);
  const { url, key } = await launcher.opened();
  const rest = new RestClient(url, key);
  const id = await rest.category();
  const { server, envoy } = await launcher.pair();
  const pids = await writers(launcher);
  small.fill(pids);
  process.kill(envoy.pid, 'SIGKILL');
  await launcher.says(/\nEnvoy serves again\.\n/);
  process.kill(server.pid, 'SIGKILL');
  // A restarted server may find the little room that it needs.
  await launcher.says(/The server (can't start: there is no room to write in .* every few seconds|serves again)\.\n/);
  small.free(await writers(launcher));
  await launcher.says(/\nThe server serves again\.\n/);
  await until(async () => (await rest.get(`/categories/${id}`)).status === 200, 'a response');
  t.is((await rest.post('/categories', { name: 'Again' })).status, 201);
  t.is(launcher.errors, '');
});
