/** One chaos run: the service starts, clients ask, faults happen, all calms down, and the checker reads what was said. */
import { setTimeout as delay } from 'node:timers/promises';
import { connectOperator, type Operator } from '../operator.ts';
import { RestClient } from '../rest-client.ts';
import { until } from '../until.ts';
import { ACCOUNTS, CHECKER, type OpenAccount, openAccount } from './accounts.ts';
import { check } from './check.ts';
import { checkRecovery, recoveryMs } from './check-service.ts';
import { type Caller, callOn, Recorder } from './clients.ts';
import { Deployment, type DeploymentName } from './deployment.ts';
import type { Evidence, Violation } from './evidence.ts';
import type { Fault } from './faults.ts';
import { keep } from './keep.ts';
import { lookAtAll } from './last-look.ts';
import { SETTLE_MS } from './losses.ts';
import { Random } from './random.ts';
import { checkRevocation } from './revocation.ts';
import { type Happened, letFaultsHappen } from './schedule.ts';
import { Things } from './things.ts';

/** Enough for bans, and for their ends. */
const LIMITS = { ADDRESS_PER_MINUTE: '1000000', BAN_REFUSALS: '20', BAN_SECONDS: '5' };
const HOMES = 3;
/** A rolling restart may still be under way in the end. */
const RESTARTED_MS = 60_000;
/** By then each server has stored what it has counted. */
const STORED_MS = 2_000;
/** How long clients go on after the time in which all must be well again. */
const CALM_MS = 3_000;

export interface RunOptions {
  readonly seed: number;
  readonly deployment: DeploymentName;
  readonly lastsMs: number;
  readonly faults: readonly Fault[];
  /** In which time after the last fault all must be well; 10 seconds unless told. */
  readonly recoverWithinMs?: number;
  readonly signal: AbortSignal;
  readonly onProgress: (text: string) => void;
  /** Lines that stay. */
  readonly onNote: (text: string) => void;
}

export interface Report {
  readonly seed: number;
  readonly deployment: DeploymentName;
  readonly evidence: Evidence;
  readonly violations: readonly Violation[];
  readonly objects: number;
  readonly undecided: number;
  readonly recoveryMs: number;
  /** Where the history and the logs are kept, of a run with violations. */
  readonly kept?: string;
}

export async function runChaos(options: RunOptions): Promise<Report> {
  options.signal.throwIfAborted();
  options.onProgress('the service starts');
  const deployment = await Deployment.start(options.deployment, LIMITS);
  let report: Report | undefined;
  try {
    options.signal.throwIfAborted();
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
  try {
    const accounts = await Promise.all([...ACCOUNTS, CHECKER].map((account) => openAccount(operator, account)));
    const checker = accounts.find(({ name }) => name === CHECKER.name) ?? accounts[0];
    if (checker === undefined) throw new Error('there is no account');
    const things = new Things(await homes(deployment, checker));
    callers.push(
      ...accounts.flatMap(({ name, key, transports }) => transports.map((one) => recorder.caller(one, name, key))),
    );
    const faults = await disturb(deployment, callers, things, recorder, random, options);
    options.onProgress('the checker looks at everything');
    const { pets, orders } = await lookAtAll(deployment, checker, recorder, things);
    // The first one's connection waits long before it is made anew, after so many failures.
    lastOperator = await connectOperator(reachable);
    const servers = await checkServers(deployment);
    const evidence: Evidence = {
      servers: deployment.servers,
      calls: recorder.calls,
      faults,
      accounts: ACCOUNTS,
      pets,
      orders,
      usage: await usageOf(
        lastOperator,
        accounts.filter(({ name }) => name !== CHECKER.name),
      ),
    };
    const large = accounts.find(({ name }) => name === 'large') ?? checker;
    const ends = [...servers, ...(await checkRevocation(deployment, lastOperator, large))];
    const report = judge(deployment, recorder, evidence, ends, options);
    return report.violations.length === 0 ? report : { ...report, kept: await keep(deployment, report) };
  } finally {
    for (const caller of callers) caller.close();
    operator.close();
    lastOperator?.close();
  }
}

/** All servers run again in the end, and no launcher has ended. */
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
  options.onProgress('the checker reads the history');
  const { violations, objects, undecided } = check(evidence);
  const broken = breaches.map((line) => ({ title: 'an answer breaks the contract', lines: [line] }));
  return {
    seed: options.seed,
    deployment: deployment.name,
    evidence,
    violations: [...violations, ...checkRecovery(evidence, options.recoverWithinMs ?? SETTLE_MS), ...others, ...broken],
    objects,
    undecided,
    recoveryMs: recoveryMs(evidence),
  };
}

/** Lets clients ask and faults happen, then the clients alone. Resolves when the last call has been answered. */
async function disturb(
  deployment: Deployment,
  callers: readonly Caller[],
  things: Things,
  recorder: Recorder,
  random: Random,
  { faults, lastsMs, signal, onNote, onProgress }: RunOptions,
): Promise<Happened[]> {
  const happened: Happened[] = [];
  const over = new AbortController();
  const onFault = (fault: Happened) => {
    happened.push(fault);
    onNote(`  ${fault.name}: ${fault.what}`);
    onProgress(`${recorder.calls.length} operations, ${happened.length} faults`);
  };
  const clients = callers.map((caller) => callOn(caller, things, random.fork(), over.signal));
  try {
    const options = { deployment, faults, random: random.fork(), signal, onFault, onNote };
    const calmMs = SETTLE_MS + CALM_MS;
    await letFaultsHappen({ ...options, lastsMs: lastsMs - calmMs });
    await deployment.opened();
    await delay(calmMs, undefined, { signal });
  } finally {
    over.abort();
    await Promise.all(clients);
  }
  return happened;
}

async function homes({ publicAddress }: Deployment, { key }: OpenAccount): Promise<[number, ...number[]]> {
  const rest = new RestClient(`http://${publicAddress}`, key);
  const [first = 0, ...others] = await Promise.all(
    Array.from({ length: HOMES }, (_, index) => rest.category(`Home ${index + 1}`)),
  );
  return [first, ...others];
}

async function usageOf(operator: Operator, accounts: readonly OpenAccount[]) {
  await delay(STORED_MS);
  return Promise.all(
    accounts.map(async ({ id, name }) => {
      // The server that is asked may just be restarted.
      const days = await until(() => operator.usage(id).catch(() => undefined), 'the usage', RESTARTED_MS);
      return { account: name, requests: days.reduce((sum, { requests }) => sum + Number(requests), 0) };
    }),
  );
}
