/** `INSTANCES` of 2: several servers behind one Envoy, each supervised separately. One service has all tests. */
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { callAdmin } from '../../src/platform/launcher/envoy-admin.ts';
import { openEvents } from '../support/calls/event-source.ts';
import { GrpcCaller } from '../support/calls/grpc-caller.ts';
import { type Load, startLoad, untilMore } from '../support/calls/load.ts';
import { RestClient } from '../support/calls/rest-client.ts';
import { freePorts, type Scope } from '../support/scope.ts';
import { isRunning } from '../support/service/process.ts';
import { type Shared, sharedMissing, startShared } from '../support/service/shared.ts';
import { testUnless } from '../support/service/sharing.ts';
import { until } from '../support/until.ts';
import { type Context, launchForAll } from './launch.ts';

const INSTANCES = 2;
const CALLERS = 6;
/** How long a rolling restart may take on a busy machine. */
const RESTART_MS = 100_000;

const test = testUnless<Context>(sharedMissing);
let databases: Shared;
const shared = launchForAll(async (_, t) => {
  databases = await startShared(t, ['max_connections=100']);
  const GRPC_PORT = String((await freePorts(INSTANCES))[0]);
  return { ...(await databases.settings()), INSTANCES: String(INSTANCES), GRPC_PORT };
}, sharedMissing);
test.beforeEach(() => shared.launcher.skipOutput());

const inFolder = (path: string) => `${shared.folder}/${path}`;

/** Reads and writes over REST, on connections that no other calls use: `fetch` keeps them by the host's name. */
async function startRestLoad(): Promise<Load> {
  const rest = new RestClient(shared.url.replace('127.0.0.1', 'localhost'), shared.key);
  const id = await rest.category();
  return startLoad(CALLERS, async (count) => {
    const isWrite = count % 8 === 0;
    const { status } = isWrite ? await rest.post('/categories', { name: 'More' }) : await rest.get(`/categories/${id}`);
    return `${isWrite ? 'POST' : 'GET'} ${status}`;
  });
}

/** Reads and writes over native gRPC. */
async function startGrpcLoad(t: Scope): Promise<Load> {
  const grpc = new GrpcCaller(`127.0.0.1:${shared.launcher.settings.PORT}`, shared.key);
  t.teardown(() => grpc.close());
  const categoryId = await grpc.category();
  return startLoad(CALLERS, async (count) => {
    if (count % 8 === 0) await grpc.category();
    else await grpc.call(Categories.getCategory, { categoryId });
    return 'OK';
  });
}

test.serial('Rolling restart - under load, twice, loses no REST request, no gRPC call and no event', async (t) => {
  const { launcher, url, key } = shared;
  const before = await launcher.servers();
  const streams = await Promise.all(Array.from({ length: 6 }, () => openEvents(`${url}/events/stream`, key)));
  for (const stream of streams) t.is((await stream.next())?.event, 'ready');
  const loads = [await startRestLoad(), await startGrpcLoad(t)];
  launcher.process.kill('SIGUSR2');
  await launcher.says(/Restarting server 1 of 2/);
  launcher.process.kill('SIGUSR2');
  await launcher.says(/A rolling restart is running: another one follows it\.\n/);
  let most = 0;
  const isOver = async () => {
    const clusters = await callAdmin({ dataDir: shared.folder }, 'GET', '/clusters');
    const unhealthy = clusters.match(/^petstore::[^:]+:\d+::health_flags::.*failed_active_hc.*$/gm) ?? [];
    most = Math.max(most, unhealthy.length);
    await delay(200);
    return launcher.output.split('Restarted all 2 servers.\n').length === 3;
  };
  await until(isOver, 'the end of both', RESTART_MS);
  t.is(most, 1, 'at most one server does not serve, and Envoy has noticed');
  // Between two events: a stream that breaks off throws.
  for (const stream of streams) while ((await stream.next()) !== undefined);
  await Promise.all(loads.map((load) => untilMore(load, 100)));
  await Promise.all(loads.map((load) => load.stop()));
  const answers = loads.flatMap((load) => [...load.answers.keys()]);
  const log = await readFile(inFolder('logs/access.log'), 'utf8');
  const refused = log.split('\n').filter((line) => line.includes('"status":5'));
  t.deepEqual(answers.toSorted(), ['GET 200', 'OK', 'POST 201'], refused.slice(0, 5).join('\n'));
  t.is((await launcher.servers()).length, INSTANCES);
  t.false(before.some(isRunning));
  t.notRegex(launcher.output, /killed/);
  for (let number = 1; number <= INSTANCES; number += 1) {
    const lines = (await readFile(inFolder(`logs/server-${number}.log`), 'utf8')).split('\n');
    const timeOf = (what: string) => Date.parse(JSON.parse(lines.find((line) => line.includes(what)) ?? '{}').time);
    const drainedMs = timeOf('"draining"') - timeOf('"no longer ready"');
    t.true(drainedMs >= 200, `Envoy has seen two failed health checks before the server stops: ${drainedMs} ms`);
  }
});

test.serial('Streams - the number of an account counts over all servers', async (t) => {
  const { url, key } = shared;
  const streams = await Promise.all(Array.from({ length: 40 }, () => openEvents(`${url}/events/stream`, key)));
  t.teardown(() => streams.forEach((stream) => void stream.close()));
  t.is(streams.filter(({ response }) => response.status === 200).length, 10);
  await delay(11_000); // a number that no server tells again is forgotten after 10 s
  t.is((await openEvents(`${url}/events/stream`, key)).response.status, 429);
});

test.serial('Rolling restart - ends at a server that does not start, and the others keep running', async (t) => {
  const { launcher } = shared;
  const operatorKey = inFolder('operator.key');
  await rename(operatorKey, `${operatorKey}.kept`);
  await mkdir(operatorKey); // a folder can't be read as a key
  const before = await launcher.servers();
  const load = await startRestLoad();
  launcher.process.kill('SIGUSR2');
  const [line] = await launcher.says(/.*The rolling restart ends here; the other servers go on\.\n/);
  t.true(line.startsWith('Server 1 ') && line.includes(inFolder('logs/server-1.log')), line);
  await untilMore(load, 100);
  t.is(before.filter(isRunning).length, INSTANCES - 1);

  await rm(operatorKey, { recursive: true });
  await rename(`${operatorKey}.kept`, operatorKey);
  await launcher.says(/Server 1 serves again\.\n/);
  await load.stop();
  t.deepEqual([...load.answers.keys()].sort(), ['GET 200', 'POST 201'], JSON.stringify([...load.answers]));
});
