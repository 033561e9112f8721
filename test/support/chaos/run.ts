/** A chaos run: starts the service, runs clients and faults, waits for recovery, and checks what the clients saw. */
import { cp, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connectOperator, type Operator } from '../operator.ts';
import { readAll, readLists } from '../replica.ts';
import { until } from '../until.ts';
import { ACCOUNTS, CHECKER, type OpenAccount, openAccount } from './accounts.ts';
import { check } from './check.ts';
import { checkRecovery, recoveryMs } from './check-service.ts';
import { type Caller, Recorder, runClient } from './clients.ts';
import { Deployment, type DeploymentName } from './deployment.ts';
import type { Evidence, Violation } from './evidence.ts';
import type { Fault } from './faults.ts';
import { Followers } from './feed.ts';
import { SETTLE_MS } from './losses.ts';
import { Random } from './random.ts';
import { checkRevocation } from './revocation.ts';
import { type Happened, runFaults } from './schedule.ts';
import { Workload } from './workload.ts';

/** Low enough that bans begin and end during a run. */
const LIMITS = { ADDRESS_PER_MINUTE: '1000000', BAN_REFUSALS: '20', BAN_SECONDS: '5' };
const HOMES = 3;
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
  let report: Report | undefined;
  try {
    report = await onDeployment(deployment, options);
  } finally {
    const left = await deployment.close();
    const violation = { title: 'processes of the service go on without their launcher', lines: left };
    if (report !== undefined && left.length > 0) report = { ...report, violations: [...report.violations, violation] };
  }
  return report;
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
    const own = recorder.caller('REST', checker.name, checker.key);
    const workload = new Workload(await homes(own));
    followers = await Followers.start(deployment.publicAddress, checker.key);
    callers.push(
      ...accounts.flatMap(({ name, key, transports }) => transports.map((one) => recorder.caller(one, name, key))),
    );
    const faults = await disturb(deployment, callers, workload, random, options);
    const url = `http://${deployment.publicAddress}`;
    const lists = await readLists(url, checker.key);
    const feed = await readAll(url, checker.key, '/events');
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
    const large = accounts.find(({ name }) => name === 'large') ?? checker;
    const ends = [...servers, ...(await checkRevocation(deployment, lastOperator, large))];
    const report = judge(deployment, recorder, evidence, ends, options);
    return report.violations.length === 0 ? report : { ...report, kept: await keep(deployment, evidence) };
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

function judge(
  deployment: Deployment,
  { breaches }: Recorder,
  evidence: Evidence,
  others: readonly Violation[],
  options: RunOptions,
): Report {
  const { violations, objects, undecided } = check(evidence);
  const broken = breaches.map((line) => ({ title: 'an answer breaks the contract', lines: [line] }));
  return {
    seed: options.seed,
    deployment: deployment.name,
    evidence,
    violations: [...violations, ...checkRecovery(evidence, SETTLE_MS), ...others, ...broken],
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

async function homes(caller: Caller): Promise<[number, ...number[]]> {
  const home = async (number: number) => {
    const outcome = await caller.call({ do: 'createCategory', name: `Home ${number}`, description: 'of pets' });
    if (outcome.kind === 'ok' && 'category' in outcome.value) return outcome.value.category.id;
    throw new Error(`there is no home for the pets: ${JSON.stringify(outcome)}`);
  };
  const [first = 0, ...others] = await Promise.all(Array.from({ length: HOMES }, (_, index) => home(index + 1)));
  return [first, ...others];
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
