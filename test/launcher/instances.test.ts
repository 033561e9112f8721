/** `INSTANCES` of 2 or more: several servers behind one Envoy, each supervised separately. */
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Client } from '@grpc/grpc-js';
import { HealthService } from '../../gen/grpc/health/v1/health.ts';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { insecure } from '../support/grpc.ts';
import { GrpcCaller } from '../support/grpc-caller.ts';
import { isRunning, type Launcher } from '../support/launcher.ts';
import { type Load, startLoad, untilMore } from '../support/load.ts';
import { freePortRange } from '../support/ports.ts';
import { query } from '../support/postgres.ts';
import { testUnless } from '../support/programs.ts';
import { RestClient } from '../support/rest-client.ts';
import { type Shared, sharedMissing, startShared } from '../support/shared.ts';
import { until } from '../support/until.ts';
import { hosts } from './envoy-hosts.ts';
import { type Context, launch, refusedWith, type Test } from './launch.ts';

const test = testUnless<Context>(sharedMissing);
let shared: Shared;

test.before(async () => {
  shared = await startShared();
});
test.after.always(() => shared?.close());

const INSTANCES = 3;
const CALLERS = 24;
/** How long a rolling restart may take on a busy machine. */
const RESTART_MS = 100_000;

/** Launches the instances with their own database and Redis. */
async function launchInstances(t: Test): Promise<Launcher> {
  const env = await shared.settings();
  const ports = { GRPC_PORT: String(await freePortRange(INSTANCES)), INSTANCES: String(INSTANCES) };
  return launch(t, { ...env, ...ports });
}

function grpcPorts({ settings }: Launcher): number[] {
  return Array.from({ length: INSTANCES }, (_, index) => Number(settings.GRPC_PORT) + index);
}

/** Reads and writes over REST, on a connection for each caller. */
async function startRestLoad(url: string, key: string): Promise<Load> {
  const rest = new RestClient(url, key);
  const id = await rest.category();
  return startLoad(CALLERS, async (count) => {
    const isWrite = count % 8 === 0;
    const { status } = isWrite ? await rest.post('/categories', { name: 'More' }) : await rest.get(`/categories/${id}`);
    return `${isWrite ? 'POST' : 'GET'} ${status}`;
  });
}

/** What a server has logged, oldest first. */
async function logOf(launcher: Launcher, index: number): Promise<{ readonly msg: string; readonly time: string }[]> {
  const text = await readFile(join(launcher.settings.DATA_DIR ?? '', 'logs', `server-${index + 1}.log`), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test.serial('Instances - run on consecutive ports, and all of them get requests', async (t) => {
  const launcher = await launchInstances(t);
  const { url, key } = await launcher.opened();
  t.true(
    launcher.output.includes(`${INSTANCES} servers run. To restart one after the other: kill -USR2 ${launcher.pid}\n`),
  );
  t.is((await launcher.servers()).length, INSTANCES);
  for (const port of grpcPorts(launcher)) {
    const grpc = new GrpcCaller(`127.0.0.1:${port}`, key);
    t.truthy(await grpc.category());
    grpc.close();
  }
  const load = await startRestLoad(url, key);
  await untilMore(load, 500);
  await load.stop();
  t.deepEqual([...load.answers.keys()].sort(), ['GET 200', 'POST 201']);
  const seen = await hosts(launcher);
  t.deepEqual(
    seen.map(({ port }) => port),
    grpcPorts(launcher),
  );
  for (const { port, requests } of seen) t.true(requests > 50, `${requests} on ${port}`);
});

test.serial('Instances - report which of their ports is busy', async (t) => {
  const launcher = await launchInstances(t);
  const last = grpcPorts(launcher).at(-1);
  const other = createServer().listen(last, '127.0.0.1');
  t.teardown(() => other.close());
  await refusedWith(t, launcher, `port ${last} is busy: stop what listens there, or set GRPC_PORT to another port`);
});

test.serial('Instances - without a demo key on this machine the start message says how to make one', async (t) => {
  const first = await launchInstances(t);
  await first.opened();
  await first.end('SIGTERM');
  await rm(join(first.settings.DATA_DIR ?? '', 'demo.key'));
  const again = launch(t, first.settings);
  t.regex((await again.opened()).curl, /Bearer <API_KEY>"/);
  t.regex(again.output, /\nAccounts and keys are made with the petstore command: .*\n/);
});

test.serial('Instances - have no demo account by default', async (t) => {
  const env = await shared.settings();
  const launcher = launch(t, { ...env, DEMO_ACCOUNT: '' });
  const { curl, key } = await launcher.opened();
  t.regex(curl, /Bearer <API_KEY>"/);
  t.is(key, '');
  t.deepEqual(await query(env.DATABASE_URL ?? '', 'SELECT id FROM accounts'), []);
});

test.serial('Rolling restart - under load, twice, loses no REST request', async (t) => {
  const launcher = await launchInstances(t);
  const { url, key } = await launcher.opened();
  const before = await launcher.servers();
  const load = await startRestLoad(url, key);
  await untilMore(load, 200);
  launcher.process.kill('SIGUSR2');
  await launcher.says(/Restarting server 1 of 3/);
  launcher.process.kill('SIGUSR2');
  await launcher.says(/A rolling restart is running: another one follows it\.\n/);
  await launcher.says(/Restarted all 3 servers\.\n[\s\S]*Restarted all 3 servers\.\n/, RESTART_MS);
  await untilMore(load, 200);
  await load.stop();
  t.deepEqual([...load.answers.keys()].sort(), ['GET 200', 'POST 201'], JSON.stringify([...load.answers]));
  const after = await launcher.servers();
  t.is(after.length, INSTANCES);
  t.false(before.some(isRunning));
});

test.serial('Rolling restart - under load loses no native gRPC call', async (t) => {
  const launcher = await launchInstances(t);
  const { key } = await launcher.opened();
  const callers = Array.from({ length: 6 }, () => new GrpcCaller(`127.0.0.1:${launcher.settings.PORT}`, key));
  const [first] = callers;
  const categoryId = (await first?.category()) ?? 0n;
  const load = startLoad(CALLERS, async (count) => {
    const grpc = callers[count % callers.length];
    if (count % 8 === 0) await grpc?.category();
    else await grpc?.call(Categories.getCategory, { categoryId });
    return 'OK';
  });
  launcher.process.kill('SIGUSR2');
  await launcher.says(/Restarted all 3 servers\.\n/, RESTART_MS);
  await untilMore(load, 200);
  await load.stop();
  for (const caller of callers) caller.close();
  t.deepEqual([...load.answers.keys()], ['OK'], JSON.stringify([...load.answers]));
});

test.serial('Rolling restart - one server at a time is unavailable, and none has to be killed', async (t) => {
  const launcher = await launchInstances(t);
  await launcher.opened();
  launcher.process.kill('SIGUSR2');
  await until(
    async () => {
      const unhealthy = (await hosts(launcher)).filter(({ isHealthy }) => !isHealthy);
      t.true(unhealthy.length <= 1, JSON.stringify(unhealthy));
      return launcher.output.includes('Restarted all');
    },
    'the end of the rolling restart',
    RESTART_MS,
  );
  t.false(launcher.output.includes('killed'), launcher.output);
  let servesAgain = '';
  for (let index = 0; index < INSTANCES; index += 1) {
    const log = (await logOf(launcher, index)).filter(({ msg }) => !msg.startsWith('the database')); // of one server
    t.deepEqual(
      log.map(({ msg }) => msg),
      ['serving', 'no longer ready', 'draining', 'stopped', 'serving'],
    );
    t.true((log[1]?.time ?? '') > servesAgain);
    servesAgain = log[4]?.time ?? '';
  }
});

test.serial('Rolling restart - an endless call delays it, but does not block it', async (t) => {
  const launcher = await launchInstances(t);
  await launcher.opened();
  const client = new Client(`127.0.0.1:${launcher.settings.PORT}`, insecure);
  const { path, requestSerialize, responseDeserialize } = HealthService.watch;
  const stream = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, { service: '' });
  const ended = new Promise((resolve) => stream.once('error', resolve));
  await new Promise((resolve) => stream.once('data', resolve));
  stream.resume();
  launcher.process.kill('SIGUSR2');
  // Perhaps only the last server, after the others have been replaced.
  await launcher.says(/\nServer \d still has open calls: they have 10 seconds more\.\n/, RESTART_MS);
  await ended;
  await launcher.says(/Restarted all 3 servers\.\n/, RESTART_MS);
  client.close();
  t.is(launcher.errors, '');
});

test.serial('Rolling restart - ends at a server that does not start, and the others keep running', async (t) => {
  const launcher = await launchInstances(t);
  const { url, key } = await launcher.opened();
  const operatorKey = join(launcher.settings.DATA_DIR ?? '', 'operator.key');
  await rename(operatorKey, `${operatorKey}.kept`);
  await mkdir(operatorKey); // a folder can't be read as a key
  const [, ...others] = await launcher.servers();
  const load = await startRestLoad(url, key);
  launcher.process.kill('SIGUSR2');
  const log = join(launcher.settings.DATA_DIR ?? '', 'logs/server-1.log');
  const [line] = await launcher.says(/.*The rolling restart ends here; the other servers go on\.\n/);
  t.true(line.startsWith('Server 1 ') && line.includes(log), line);
  await untilMore(load, 200);
  t.true(others.every(isRunning));

  await rm(operatorKey, { recursive: true });
  await rename(`${operatorKey}.kept`, operatorKey);
  await launcher.says(/Server 1 serves again\.\n/);
  await load.stop();
  t.deepEqual([...load.answers.keys()].sort(), ['GET 200', 'POST 201'], JSON.stringify([...load.answers]));
});

test.serial('Death of one server - the launcher restarts it, and only its open requests fail', async (t) => {
  const launcher = await launchInstances(t);
  const { url, key } = await launcher.opened();
  const [killed, ...others] = await launcher.servers();
  const load = await startRestLoad(url, key);
  await untilMore(load, 200);
  process.kill(killed?.pid ?? -1, 'SIGKILL');
  await launcher.says(
    /\nServer \d ended unexpectedly \(signal SIGKILL\): see .*server-\d\.log\. Starting it again …\n/,
  );
  await launcher.says(/\nServer \d serves again\.\n/);
  await until(async () => (await hosts(launcher)).every(({ isHealthy }) => isHealthy), 'healthy servers at Envoy');
  await untilMore(load, 200);
  await load.stop();
  const failed = [...load.answers].filter(([result]) => !/ 20[01]$/.test(result));
  for (const [result] of failed) t.regex(result, / 503$/);
  const count = failed.reduce((sum, [, times]) => sum + times, 0);
  t.true(count <= CALLERS, `each caller has one open request: ${JSON.stringify(failed)}`);
  t.true(others.every(isRunning));
  t.is((await launcher.servers()).length, INSTANCES);
  t.is(launcher.errors, '');
});

test.serial('Repeated deaths of all servers - the launcher restarts them each time', async (t) => {
  const launcher = await launchInstances(t);
  const { url } = await launcher.opened();
  for (let round = 1; round <= 3; round += 1) {
    const servers = await until(async () => {
      const running = await launcher.servers();
      return running.length === INSTANCES && running;
    }, 'all servers');
    for (const { pid } of servers) process.kill(pid, 'SIGKILL');
    const times = round * INSTANCES;
    await until(() => launcher.output.split('serves again.').length - 1 === times, `${times} new servers`);
  }
  await until(async () => (await fetch(`${url}/healthz`)).status === 200, 'health');
  t.is(launcher.errors, '');
});

test.serial('Death of Envoy - during a rolling restart only delays it', async (t) => {
  const launcher = await launchInstances(t);
  const { url } = await launcher.opened();
  const { envoy } = await launcher.pair();
  launcher.process.kill('SIGUSR2');
  await launcher.says(/Restarting server 1 of 3/);
  process.kill(envoy.pid, 'SIGKILL');
  await launcher.says(/\nEnvoy serves again\.\n/);
  await launcher.says(/Restarted all 3 servers\.\n/, RESTART_MS);
  t.is((await fetch(`${url}/healthz`)).status, 200);
  t.is((await launcher.servers()).length, INSTANCES);
  t.is(launcher.errors, '');
});

for (const step of [/Restarting server 1 of 3/, /Restarting server 2 of 3/]) {
  test.serial(`SIGTERM - during a rolling restart, at "${step.source}", stops everything, exits with 0`, async (t) => {
    const launcher = await launchInstances(t);
    await launcher.opened();
    launcher.process.kill('SIGUSR2');
    await launcher.says(step);
    const children = await launcher.children();
    t.deepEqual(await launcher.end('SIGTERM'), { code: 0, signal: null });
    t.regex(launcher.output, /\nStopping: .*\nStopped\.\n$/);
    t.is(launcher.errors, '');
    t.false(children.some(isRunning));
    const { settings } = launcher;
    const again = launch(t, settings); // every port is free again
    await again.opened();
  });
}
