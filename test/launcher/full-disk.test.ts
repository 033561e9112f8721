/** The service on a disk that fills up, is full when it starts, and has room again. One disk has all tests. */
import { readFileSync } from 'node:fs';
import { status } from '@grpc/grpc-js';
import { CategoryServiceService } from '../../gen/petstore/v1/categories.ts';
import { run } from '../cli/command.ts';
import { GrpcCaller } from '../support/calls/grpc-caller.ts';
import { type RestClient, readAll, walk } from '../support/calls/rest-client.ts';
import { mountSmallDisk, noNamespaces, type SmallDisk } from '../support/machine/namespaces.ts';
import { testUnless } from '../support/service/sharing.ts';
import { until } from '../support/until.ts';
import { type Context, launch, launchForAll, refusedWith } from './launch.ts';

const test = testUnless<Context>(noNamespaces);
let small: SmallDisk;
const shared = launchForAll((_, t) => {
  small = mountSmallDisk(80);
  t.teardown(() => small.remove());
  return { DATA_DIR: `${small.path}/data`, LOG_LEVEL: 'debug' };
}, noNamespaces);

const acknowledged = new Map<number, string>();

/** Creates categories until `count` writes got this status. */
async function create(rest: RestClient, count: number, expected: number): Promise<void> {
  let seen = 0;
  const createNext = async () => {
    while (seen < count) {
      const name = `Kind ${acknowledged.size} ${'x'.repeat(150)}`;
      const { status, body, headers } = await rest.post('/categories', { name, description: 'y'.repeat(1_500) });
      if (status === 201) acknowledged.set(body.id, body.name);
      else if (status !== 503 || body.code !== 'UNAVAILABLE' || !headers.has('retry-after')) {
        throw new Error(`a write got ${status}: ${JSON.stringify(body)}`);
      }
      if (status === expected) seen += 1;
    }
  };
  await Promise.all(Array.from({ length: 4 }, createNext));
}

async function allExist(rest: RestClient): Promise<boolean> {
  const pages = await walk<{ readonly id: number; readonly name: string }>(rest, '/categories?limit=100');
  const found = new Map(pages.flat().map(({ id, name }) => [id, name]));
  return [...acknowledged].every(([id, name]) => found.get(id) === name);
}

test.serial('Full disk - writes get 503, reads work, no process ends, and no acknowledged write is lost', async (t) => {
  const { launcher, url, rest, folder } = shared;
  const before = await launcher.pair();
  await create(rest, 400, 201); // enough for a checkpoint of the write-ahead log
  small.fill();
  await create(rest, 40, 503);
  t.true(await allExist(rest));
  t.is((await fetch(`${url}/healthz`)).status, 200);
  t.deepEqual(await launcher.pair(), before);

  small.free();
  await create(rest, 100, 201);
  t.true(await allExist(rest));
  t.deepEqual(await launcher.pair(), before);
  const log = () => readFileSync(`${folder}/logs/server.log`, 'utf8');
  const { length } = log();
  const goesOn = async () => {
    await rest.get('/categories/0'); // at LOG_LEVEL=debug each call has a line
    return log().length > length;
  };
  await until(goesOn, 'the log line');
  const lines = log().trimEnd().split('\n');
  t.notThrows(() => lines.map((line) => JSON.parse(line)), 'no line is broken');
});

/** Repeated in a description, and the room that is left, which ends within a batch of writes. */
const ROUNDS = [
  ['y', 100_000],
  ['🐈', 400_000],
  ['🐈', 1_000_000],
  ['🐈', 1_500_000],
] as const;

test.serial('Full disk - of 250 POSTs at once, by REST and gRPC, each 201 is stored once, no 503 is', async (t) => {
  const { url, key, rest } = shared;
  const grpc = new GrpcCaller(new URL(url).host, key);
  t.teardown(() => grpc.close());
  for (const [letter, room] of ROUNDS) {
    const names = Array.from({ length: 250 }, (_, index) => `${room}-${index}`);
    const create = async (name: string, index: number): Promise<number | undefined> => {
      const [category, headers] = [{ name, description: letter.repeat(2_000) }, { 'idempotency-key': name }];
      if (index % 2 === 0) {
        const { status, body } = await rest.send('POST', '/categories', { json: category, headers });
        t.true(status === 201 || status === 503, String(status));
        return status === 201 ? body.id : undefined;
      }
      const call = grpc.call(CategoryServiceService.createCategory, { category }, { metadata: headers });
      const created = await call.catch(({ code }) => void t.is(code, status.UNAVAILABLE));
      return created && Number(created.id);
    };
    const stored = async () => {
      const all = await readAll<{ readonly id: number; readonly name: string }>(rest, '/categories');
      return names.map((name) => all.filter((one) => one.name === name).map(({ id }) => id));
    };
    small.fill(room);
    const ids = await Promise.all(names.map(create));
    const kept = ids.map((id) => (id === undefined ? [] : [id]));
    t.deepEqual(await stored(), kept);
    small.free();
    const again = await Promise.all(names.map(async (name, index) => [await create(name, index)]));
    t.deepEqual(await stored(), again);
    for (const [index, id] of ids.entries()) if (id !== undefined) t.deepEqual(again[index], [id]);
  }
});

test.serial('Start on a full disk - fails with one line that names the folder without room', async (t) => {
  const { launcher, folder } = shared;
  t.deepEqual(await launcher.end('SIGTERM'), { code: 0, signal: null });
  small.fill();
  const [old, fresh] = [launch(t, launcher.settings), launch(t, { DATA_DIR: `${small.path}/new` })];
  const server = run(process.execPath, ['src/main.ts'], { ...t.context.settings, DATA_DIR: `${small.path}/x` });
  const remedy = 'make room there, or set DATA_DIR to a folder on another disk$';
  await refusedWith(t, old, new RegExp(`^there is no room to write in ${folder} \\(.+\\): ${remedy}`), 75);
  await refusedWith(t, fresh, new RegExp(`^there is no room to write in ${small.path}/new \\(.+\\): ${remedy}`), 75);
  t.like(await server, { exitCode: 75, stdout: '' });
  small.free();
  t.true(await allExist((await launch(t, launcher.settings).opened()).rest));
});
