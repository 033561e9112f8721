/**
 * Measures a scenario: short rounds that alternate between the variants, and the medians of the rounds. When the
 * machine is busy for a while, all variants are disturbed alike, and no single round decides.
 */
import { CommandFailed } from '../test/support/command-line.ts';
import { median } from '../test/support/numbers.ts';
import { calibrate } from './calibration.ts';
import type { LoadGenerator, Outcome } from './load.ts';
import type { Progress } from './progress.ts';
import type { Request, Scenario, Variant } from './scenarios.ts';
import type { BenchStack } from './stacks.ts';

export const ROUNDS = 5;
/** How long each variant runs before its first round, for each server: its code is compiled and its caches filled. */
const WARM_UP_MS = 1_500;
const LEAD_IN_MS = 300;
/** Prepared requests of a round: too many to stay in a cache. */
const REQUESTS = 16_384;

export interface Round extends Outcome {
  /** CPU time per request of all programs together. */
  readonly totalUs: number;
}

export interface Measurement {
  readonly scenario: Scenario;
  readonly variant: Variant;
  readonly rounds: readonly Round[];
  /** The floor's rounds, if the scenario has a floor and this is not it. */
  readonly floor: readonly Round[] | undefined;
  /** The rounds of the scenario's first variant, if this is neither that nor the floor. */
  readonly first: readonly Round[] | undefined;
}

export interface Setup {
  readonly load: LoadGenerator;
  readonly stackOf: (variant: Variant) => BenchStack;
  readonly connections: number;
  readonly instances: number;
  readonly seconds: number;
  readonly progress: Progress;
}

/** Measures the variants of a scenario. */
export async function measureScenario(scenario: Scenario, setup: Setup): Promise<Measurement[]> {
  const { progress, seconds, instances } = setup;
  const { name, variants } = scenario;
  const measured = variants.map((variant) => ({ variant, rounds: [] as Round[] }));
  for (const variant of variants) {
    progress.update(`${name}, ${variant.name}: warming up`);
    await checkResponse(scenario, variant, setup.stackOf(variant));
    await runRound(scenario, variant, setup, WARM_UP_MS * instances);
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = round % variants.length; // no variant is always the first or the last one
    for (const { variant, rounds } of [...measured.slice(start), ...measured.slice(0, start)]) {
      progress.update(`${name}, ${variant.name}: round ${round + 1} of ${ROUNDS}`);
      calibrate();
      rounds.push(await runRound(scenario, variant, setup, (seconds * 1000) / ROUNDS));
    }
  }
  const floor = measured.find(({ variant }) => variant.isFloor)?.rounds;
  const first = measured.find(({ variant }) => !variant.isFloor)?.rounds;
  return measured.map(({ variant, rounds }) => ({
    scenario,
    variant,
    rounds,
    floor: variant.isFloor ? undefined : floor,
    first: variant.isFloor || rounds === first ? undefined : first,
  }));
}

/** The median of the rounds, each compared with the other variant's round of about the same time. */
export function compare(
  rounds: readonly Round[],
  others: readonly Round[] | undefined,
  figure: (round: Round, other: Round) => number,
): number | undefined {
  return (
    others && median(rounds.flatMap((round, index) => others.slice(index, index + 1).map((o) => figure(round, o))))
  );
}

/** Sends one request and checks its response: the load generator looks at the status alone. */
async function checkResponse(scenario: Scenario, variant: Variant, { url, key }: BenchStack): Promise<void> {
  const { method, path, body } = scenario.request(variant.pets);
  const headers = headersOf(variant, key, body);
  const response = await fetch(`${url}${path}`, { method, headers, ...(body && { body }) });
  const text = await response.text();
  if (!response.ok || !scenario.isExpected(JSON.parse(text))) {
    throw new CommandFailed(
      `${method} ${path} on ${variant.name} has an unexpected response: ${response.status} ${text}`,
    );
  }
}

async function runRound(scenario: Scenario, variant: Variant, setup: Setup, measureMs: number): Promise<Round> {
  const { load, connections, stackOf } = setup;
  const stack = stackOf(variant);
  const requests = rawRequests(REQUESTS, scenario, variant, stack);
  const { target, counted } = stack;
  const outcome = await load.run({ target, requests, connections, leadInMs: LEAD_IN_MS, measureMs, counted });
  const { ok, shed, others } = outcome;
  const failures = [...Object.keys(others), ...(shed.perSecond > 0 ? ['503'] : [])];
  const what = `${scenario.name}, ${variant.name}`;
  if (failures.length > 0) throw new CommandFailed(`${what}: ${failures.join(', ')} instead of 2xx`);
  if (ok.perSecond === 0) throw new CommandFailed(`${what}: no response in a round: measure for longer (--seconds)`);
  return { ...outcome, totalUs: Object.values(outcome.cpuUs).reduce((sum, us) => sum + us, 0) };
}

/** Random requests of a scenario, as bytes. */
export function rawRequests(count: number, scenario: Scenario, variant: Variant, stack: BenchStack): string[] {
  return Array.from({ length: count }, () => {
    const { method, path, body } = scenario.request(variant.pets);
    const headers = { host: new URL(stack.url).host, ...headersOf(variant, stack.key, body) };
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const lines = Object.entries({ ...headers, ...length }).map(([name, value]) => `${name}: ${value}`);
    return `${[`${method} ${path} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n${body ?? ''}`;
  });
}

function headersOf({ headers }: Variant, key: string, body: Request['body']): Record<string, string> {
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  return { authorization: `Bearer ${key}`, ...type, ...headers };
}
