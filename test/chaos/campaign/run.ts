/** A chaos run: starts the service, runs clients and faults, waits for recovery, and checks what the clients saw. */
import { cp, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { connectOperator } from '../../support/calls/operator.ts';
import { RestClient, readAll } from '../../support/calls/rest-client.ts';
import type { Scope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import { Caller } from '../../walk/caller.ts';
import { WRITES } from '../../walk/operations.ts';
import { Oracle } from '../../walk/oracle.ts';
import { Client, Seen } from './clients.ts';
import { type Deployment, type DeploymentName, startDeployment } from './deployment.ts';
import type { Fault } from './faults.ts';
import { startFollower } from './follower.ts';
import { type Happened, runFaults, sequence } from './schedule.ts';

/** The service's promised recovery time: for so long a fault has effects. */
const SETTLE_MS = 10_000;
/** How long clients continue after it. */
const CALM_MS = 3_000;
/** A rolling restart may still be in progress at the end. */
const RESTARTED_MS = 60_000;
const MANY = 1_000_000;
const CLIENTS = Array.from({ length: 12 }, (_, index) => (index % 2 === 0 ? 'REST' : 'gRPC'));

export interface RunOptions {
  readonly seed: number;
  readonly deployment: DeploymentName;
  readonly lastsMs: number;
  readonly faults: readonly Fault[];
}

/** Resolves with what is wrong, and with a report for the log. */
export async function runChaos(t: Scope, { seed, lastsMs, ...options }: RunOptions) {
  const deployment = await startDeployment(t, options.deployment);
  const { publicAddress, grpcAddress, dataDir } = deployment;
  const operator = await connectOperator(t, { grpcAddress, config: { dataDir } });
  const key = await operator.keyOf({ perMinute: MANY, perDay: MANY });
  const seen = new Seen();
  const follower = await startFollower(t, publicAddress, key);
  const clients = CLIENTS.map((transport) => new Client(transport, publicAddress, key, seen));
  for (const client of clients) t.teardown(client.close);
  const expected = { REST: [] as (readonly string[])[], gRPC: [] as (readonly string[])[] };
  for (const client of clients.slice(0, 2)) {
    for (const operation of WRITES) expected[client.transport].push(await client.perform(operation));
  }
  const [happened, over]: [Happened[], AbortController] = [[], new AbortController()];
  t.teardown(() => over.abort());
  const running = clients.map((client, number) =>
    client.run(sequence(fc.nat(), seed, number), expected[client.transport], over.signal),
  );
  await runFaults(deployment, options.faults, seed, lastsMs - SETTLE_MS - CALM_MS, happened);
  await delay(SETTLE_MS + CALM_MS);
  over.abort();
  await Promise.all(running);
  const { violations, failedMs } = seen;
  const lastMs = Math.max(0, ...happened.map(({ endMs }) => endMs));
  const late = failedMs.filter((ms) => ms > lastMs + SETTLE_MS);
  if (late.length > 0)
    violations.push(`${late.length} calls failed more than 10 s after the last fault, ${timeOf(lastMs)}`);
  await Promise.all(clients.map((client) => client.lookAtAll()));
  violations.push(...(await lookAtAll(deployment, key, seen, follower)));
  const names = Map.groupBy(happened, ({ name }) => name);
  const text = [
    `seed ${seed} on ${options.deployment}: ${seen.calls} calls, ${failedMs.length} without an answer`,
    `Faults: ${[...names].map(([name, all]) => `${name} ${all.length}`).join(', ')}`,
    ...violations,
  ];
  if (violations.length > 0) {
    text.push('The faults were:');
    for (const { startMs, endMs, what } of happened) text.push(`  ${timeOf(startMs)} to ${timeOf(endMs)} ${what}`);
    const folder = await mkdtemp(`${tmpdir()}/petstore-chaos-`);
    await cp(`${dataDir}/logs`, folder, { recursive: true });
    text.push(`The logs are in ${folder}`);
  }
  return { violations, text: text.join('\n') };
}

/** What is wrong in the end, when nothing fails any more. */
async function lookAtAll(
  deployment: Deployment,
  key: string,
  { made, deleted }: Seen,
  follower: Awaited<ReturnType<typeof startFollower>>,
): Promise<string[]> {
  const wrong: string[] = [];
  const { publicAddress, servers, launcher } = deployment;
  const allRun = async () => (await deployment.serverPids()).length === servers;
  if (!(await until(allRun, 'all servers', RESTARTED_MS).catch(() => false))) {
    const said = launcher.hasEnded ? launcher.output.slice(-500) + launcher.errors : '';
    wrong.push(`not all ${servers} servers run: ${said}`);
  }
  // Nothing was done twice.
  const rest = new RestClient(`http://${publicAddress}`, key);
  for (const [path, keys] of made) {
    const expected = keys.size - (deleted.get(path)?.size ?? 0);
    const { length } = await readAll(rest, path);
    if (length !== expected) wrong.push(`${path} has ${length} rows, not ${expected}`);
  }
  // The events tell of what there is, and the follower has got each once and in order.
  const caller = new Caller(publicAddress, key);
  const oracle = new Oracle(caller);
  try {
    const events = (await oracle.catchUp()).map(({ id, type }) => `${id} ${type}`);
    await oracle.checkLists();
    const followed = await follower.endAfter(events.length);
    const at = followed.findIndex((event, index) => event !== events[index]);
    if (!isDeepStrictEqual(followed, events))
      wrong.push(`the follower has ${followed.length} events of ${events.length}: ${followed[at]}`);
  } catch (error) {
    wrong.push((error as Error).message);
  }
  caller.close();
  return wrong;
}

const timeOf = (ms: number) => new Date(ms).toISOString().slice(11, 23);
