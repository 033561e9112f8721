/** A chaos run: starts the service, runs clients and faults, waits for recovery, and checks what the clients saw. */
import { cp, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connectOperator, type Operator } from '../operator.ts';
import { readAll, readLists } from '../replica.ts';
import { RestClient } from '../rest-client.ts';
import { until } from '../until.ts';
import { ACCOUNTS, CHECKER, type OpenAccount, openAccount } from './accounts.ts';
import { checkFeed } from './check-feed.ts';
import { checkLimits } from './check-limits.ts';
import { checkObjects } from './check-objects.ts';
import { checkAnswers, checkRecovery, recoveryMs } from './check-service.ts';
import { checkUsage } from './check-usage.ts';
import { type Caller, Recorder, runClient } from './clients.ts';
import { Deployment, type DeploymentName } from './deployment.ts';
import type { Evidence, Violation } from './evidence.ts';
import type { Fault } from './faults.ts';
import { Followers } from './feed.ts';
import { SETTLE_MS } from './losses.ts';
import { Random } from './random.ts';
import { type Happened, runFaults } from './schedule.ts';
import { Workload } from './workload.ts';

/** Low enough that bans begin and end during a run. */
const LIMITS = { ADDRESS_PER_MINUTE: '1000000', BAN_REFUSALS: '20', BAN_SECONDS: '5' };
/** A rolling restart may still be in progress at the end. */
const RESTARTED_MS = 60_000;
/** Until then each server has stored its counts. */
const STORED_MS = 2_000;
/** How long clients continue after the recovery time. */
const CALM_MS = 3_000;

export interface RunOptions {
  readonly seed: number;
  readonly deployment: DeploymentName;
  readonly lastsMs: number;
  readonly faults: readonly Fault[];
}

export interface Report {
  readonly seed: number;
  readonly deployment: DeploymentName;
  readonly evidence: Evidence;
  readonly violations: readonly Violation[];
  readonly objects: number;
  readonly undecided: number;
  readonly recoveryMs: number;
  /** The folder with the evidence of a run with violations. */
  readonly kept?: string;
}

export async function runChaos(options: RunOptions): Promise<Report> {
  const deployment = await Deployment.start(options.deployment, LIMITS);
  return onDeployment(deployment, options).finally(() => deployment.close());
}

async function onDeployment(deployment: Deployment, options: RunOptions): Promise<Report> {
  const random = new Random(options.seed);
  const recorder = new Recorder(deployment.publicAddress);
  const reachable = { grpcAddress: deployment.grpcAddress, config: { dataDir: deployment.dataDir } };
  const operator = await connectOperator(reachable);
  let lastOperator: Operator | undefined;
  const callers: Caller[] = [];
  let followers: Followers | undefined;
  try {
    const accounts = await Promise.all([...ACCOUNTS, CHECKER].map((account) => openAccount(operator, account)));
    const checker = accounts.find(({ name }) => name === CHECKER.name) ?? accounts[0];
    if (checker === undefined) throw new Error('there is no account');
    const rest = new RestClient(`http://${deployment.publicAddress}`, checker.key);
    const workload = new Workload([await rest.category('Home 1'), await rest.category('Home 2')]);
    followers = await Followers.start(deployment.publicAddress, checker.key);
    callers.push(
      ...accounts.flatMap(({ name, key, transports }) => transports.map((one) => recorder.caller(one, name, key))),
    );
    const faults = await disturb(deployment, callers, workload, random, options);
    const lists = await readLists(rest.url, checker.key);
    const feed = await readAll(rest.url, checker.key, '/events');
    await followers.end(feed.at(-1)?.id ?? 0);
    // After many failures the first operator's connection backs off for long, so a new one is used.
    lastOperator = await connectOperator(reachable);
    const servers = await checkServers(deployment);
    const evidence: Evidence = {
      servers: deployment.servers,
      calls: recorder.calls,
      faults,
      accounts: ACCOUNTS,
      lists,
      feed,
      followed: followers.followed,
      usage: await usageOf(
        lastOperator,
        accounts.filter(({ name }) => name !== CHECKER.name),
      ),
    };
    const broken = recorder.breaches.map((line) => ({ title: 'an answer breaks the contract', lines: [line] }));
    const verdict = judge(evidence, [...servers, ...broken]);
    const kept = verdict.violations.length === 0 ? {} : { kept: await keep(deployment, evidence) };
    return { seed: options.seed, deployment: deployment.name, ...verdict, ...kept };
  } finally {
    for (const caller of callers) caller.close();
    await followers?.close();
    operator.close();
    lastOperator?.close();
  }
}

/** Checks that all servers run at the end, and that no launcher ended unexpectedly. */
async function checkServers(deployment: Deployment): Promise<Violation[]> {
  const allRun = async () => (await deployment.serverPids()).length === deployment.servers;
  const areBack = await until(allRun, 'all servers', RESTARTED_MS).catch(() => false);
  const ends = deployment.unexpectedEnds.map(({ said }) => ({ title: 'the launcher ended by itself', lines: [said] }));
  return areBack ? ends : [...ends, { title: `not all ${deployment.servers} servers run in the end`, lines: [] }];
}

/** `others` are violations that the evidence does not show. */
function judge(evidence: Evidence, others: readonly Violation[]): Omit<Report, 'seed' | 'deployment'> {
  const { violations, objects, undecided } = checkObjects(evidence.calls, evidence.feed);
  return {
    evidence,
    violations: [
      ...violations,
      ...checkFeed(evidence),
      ...checkLimits(evidence),
      ...checkUsage(evidence),
      ...checkAnswers(evidence.calls),
      ...checkRecovery(evidence, SETTLE_MS),
      ...others,
    ],
    objects,
    undecided,
    recoveryMs: recoveryMs(evidence),
  };
}

/** Runs clients and faults, then the clients alone. Resolves after the last call. */
async function disturb(
  deployment: Deployment,
  callers: readonly Caller[],
  workload: Workload,
  random: Random,
  { faults, lastsMs }: RunOptions,
): Promise<Happened[]> {
  const happened: Happened[] = [];
  const over = new AbortController();
  const onFault = (fault: Happened) => void happened.push(fault);
  const clients = callers.map((caller) => runClient(caller, workload, random.fork(), over.signal));
  try {
    const options = { deployment, faults, random: random.fork(), onFault };
    const calmMs = SETTLE_MS + CALM_MS;
    await runFaults({ ...options, lastsMs: lastsMs - calmMs });
    await deployment.opened();
    await delay(calmMs);
  } finally {
    over.abort();
    await Promise.all(clients);
  }
  return happened;
}

async function usageOf(operator: Operator, accounts: readonly OpenAccount[]) {
  await delay(STORED_MS);
  return Promise.all(
    accounts.map(async ({ id, name }) => {
      // The server may be restarting.
      const days = await until(() => operator.usage(id).catch(() => undefined), 'the usage', RESTARTED_MS);
      return { account: name, requests: days.reduce((sum, { requests }) => sum + Number(requests), 0) };
    }),
  );
}

/** Saves all calls, the feed and the logs of a run with violations. Resolves with the folder. */
async function keep({ dataDir }: Deployment, { calls, feed, followed }: Evidence): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'petstore-chaos-'));
  await writeFile(join(folder, 'calls.jsonl'), calls.map((call) => `${JSON.stringify(call)}\n`).join(''));
  await writeFile(join(folder, 'feed.json'), JSON.stringify({ feed, followed }));
  await cp(join(dataDir, 'logs'), join(folder, 'logs'), { recursive: true });
  return folder;
}
