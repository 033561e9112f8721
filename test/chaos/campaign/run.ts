/** A chaos run: starts the service, runs clients and faults, waits for recovery, and checks what the clients saw. */
import { cp, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connectOperator } from '../../support/calls/operator.ts';
import { readAll } from '../../support/calls/pages.ts';
import { RestClient } from '../../support/calls/rest-client.ts';
import type { Scope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import { checkAnswers, checkRecovery, SETTLE_MS } from './check-answers.ts';
import { checkFeed } from './check-feed.ts';
import { checkObjects } from './check-objects.ts';
import { type Recorded, runClient } from './clients.ts';
import { type Deployment, type DeploymentName, startDeployment } from './deployment.ts';
import type { Fault } from './faults.ts';
import { readLists, startFollowers } from './feed.ts';
import { type Call, type Evidence, type FeedEvent, type Happened, timeOf, type Violation } from './history.ts';
import { Random } from './random.ts';
import { runFaults } from './schedule.ts';
import { createWorkload } from './workload.ts';

/** Low enough that bans begin and end during a run. */
const LIMITS = { ADDRESS_PER_MINUTE: '1000000', BAN_REFUSALS: '20', BAN_SECONDS: '5' };
/** A rolling restart may still be in progress at the end. */
const RESTARTED_MS = 60_000;
/** How long clients continue after the recovery time. */
const CALM_MS = 3_000;

const MANY = 1_000_000;

/** The limits of an account, and its clients. Some never reach their limits, some do at once. */
const ACCOUNTS: readonly (readonly [perMinute: number, perDay: number, ...clients: Call['transport'][]])[] = [
  [150, MANY, 'REST', 'gRPC', 'REST'],
  [MANY, 400, 'gRPC', 'REST'],
  [MANY, MANY, 'REST', 'gRPC', 'REST', 'gRPC', 'REST', 'gRPC'],
];

export interface RunOptions {
  readonly seed: number;
  readonly deployment: DeploymentName;
  readonly lastsMs: number;
  readonly faults: readonly Fault[];
}

export async function runChaos(t: Scope, options: RunOptions) {
  const deployment = await startDeployment(t, options.deployment, LIMITS);
  const { publicAddress, grpcAddress, dataDir } = deployment;
  const random = new Random(options.seed);
  const operator = await connectOperator(t, { grpcAddress, config: { dataDir } });
  const clients = [];
  for (const [perMinute, perDay, ...transports] of ACCOUNTS) {
    const key = await operator.keyOf({ perMinute, perDay });
    for (const transport of transports) clients.push({ transport, key, random: random.fork() });
  }
  const key = await operator.keyOf({ perMinute: MANY, perDay: MANY });
  const rest = new RestClient(`http://${publicAddress}`, key);
  const workload = createWorkload([await rest.category('Home 1'), await rest.category('Home 2')]);
  const followers = await startFollowers(t, publicAddress, key);
  const [faults, over]: [Happened[], AbortController] = [[], new AbortController()];
  t.teardown(() => over.abort());
  const recorded: Recorded = { calls: [], breaches: [] };
  const running = clients.map((client) => runClient(publicAddress, client, workload, recorded, over.signal));
  const calmMs = SETTLE_MS + CALM_MS;
  await runFaults(deployment, options.faults, random.fork(), options.lastsMs - calmMs, faults);
  await delay(calmMs);
  over.abort();
  await Promise.all(running);
  const lists = await readLists(rest);
  const feed = await readAll<FeedEvent>(rest, '/events');
  await followers.endAfter(feed.at(-1)?.id);
  const standing = await checkServers(deployment);
  const { calls } = recorded;
  const { followed } = followers;
  const evidence = { calls, faults, lists, feed, followed };
  const broken = recorded.breaches.map((line) => ({ title: 'an answer breaks the contract', lines: [line] }));
  return judge(deployment, options, evidence, [...standing, ...broken]);
}

async function checkServers(deployment: Deployment): Promise<Violation[]> {
  const allRun = async () => (await deployment.serverPids()).length === deployment.servers;
  if (await until(allRun, 'all servers', RESTARTED_MS).catch(() => false)) return [];
  const { output, errors, hasEnded } = deployment.launcher;
  const lines = hasEnded ? [`the launcher has ended: ${output.slice(-500)}${errors}`] : [];
  return [{ title: `not all ${deployment.servers} servers run in the end`, lines }];
}

/** The violations, and a report for the log. `others` are violations that the evidence does not show. */
async function judge(
  { dataDir }: Deployment,
  { seed, deployment }: RunOptions,
  evidence: Evidence,
  others: readonly Violation[],
) {
  const { calls, faults, feed } = evidence;
  const violations = [
    ...checkObjects(calls, feed),
    ...checkFeed(evidence),
    ...checkAnswers(calls),
    ...checkRecovery(evidence),
    ...others,
  ];
  const outcomes = calls.map(({ outcome }) => (outcome.kind === 'refused' ? outcome.code : outcome.kind));
  const text = [
    `seed ${seed} on ${deployment}: ${calls.length} calls, ${feed.length} events`,
    `Outcomes: ${counted(outcomes)}`,
    `Faults: ${counted(faults.map(({ name }) => name))}`,
    ...violations.flatMap(({ title, lines }) => [title, ...lines.map((line) => `  ${line}`)]),
  ];
  if (violations.length > 0) {
    text.push('The faults were:');
    for (const { startMs, endMs, what } of faults) text.push(`  ${timeOf(startMs)} to ${timeOf(endMs)} ${what}`);
    text.push(`All calls, the feed and the logs are in ${await keep(dataDir, evidence)}`);
  }
  return { violations, text: text.join('\n') };
}

function counted(names: readonly string[]): string {
  return [...Map.groupBy(names, (name) => name)].map(([name, all]) => `${name} ${all.length}`).join(', ');
}

/** Saves the evidence and the logs. Resolves with the folder. */
async function keep(dataDir: string, { calls, feed, followed }: Evidence): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'petstore-chaos-'));
  await writeFile(join(folder, 'calls.jsonl'), calls.map((call) => `${JSON.stringify(call)}\n`).join(''));
  await writeFile(join(folder, 'feed.json'), JSON.stringify({ feed, followed }));
  await cp(join(dataDir, 'logs'), join(folder, 'logs'), { recursive: true });
  return folder;
}
