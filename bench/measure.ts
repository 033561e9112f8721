/**
 * Measures a scenario: short rounds that alternate between the variants, and the medians of the rounds. When the
 * machine is busy for a while, all variants are disturbed alike, and no single round decides.
 */
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { CommandFailed } from '../scripts/command-line.ts';
import { cpuTimesUs, US_PER_TICK } from '../test/support/machine/cpu-time.ts';
import type { Scenario, Variant } from './scenarios.ts';
import type { BenchStack, Counted } from './stacks.ts';
import { type Load, type Outcome, runWrk } from './wrk.ts';

export const ROUNDS = 5;

export interface Round {
  /** Requests. */
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU time per request, of all programs of the service together, and of each. */
  readonly cpuUs: number;
  readonly programs: Readonly<Record<string, number>>;
  /** The share of the machine that programs other than the benchmark's used, from 0 to 1. */
  readonly othersShare: number;
}

export interface Measurement {
  readonly scenario: Scenario;
  readonly variant: Variant;
  readonly rounds: readonly Round[];
}

export interface Setup extends Pick<Load, 'connections' | 'seconds' | 'folder' | 'signal'> {
  readonly stackOf: (variant: Variant) => BenchStack;
  readonly say: (text: string) => void;
}

/** Measures the variants of a scenario. */
export async function measureScenario(scenario: Scenario, setup: Setup): Promise<Measurement[]> {
  const { stackOf, say } = setup;
  const { name, variants } = scenario;
  say(`${name}: ${variants.length * (ROUNDS + 1) * setup.seconds} s …`);
  const measured = variants.map((variant) => ({ scenario, variant, rounds: [] as Round[] }));
  for (const variant of variants) {
    await checkResponse(scenario, variant, stackOf(variant));
    await runRound(scenario, variant, setup); // its code is compiled and its caches filled
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = round % variants.length; // no variant is always the first or the last one
    for (const { variant, rounds } of [...measured.slice(start), ...measured.slice(0, start)]) {
      rounds.push(await runRound(scenario, variant, setup));
    }
  }
  return measured;
}

/** Sends one request and checks its response: wrk looks at the status alone. */
async function checkResponse(scenario: Scenario, variant: Variant, { url, key }: BenchStack): Promise<void> {
  const { path, body } = scenario.request(variant.pets);
  const post = body === undefined ? {} : { method: 'POST', body };
  const response = await fetch(`${url}${path}`, { headers: headersOf(variant, key), ...post });
  const text = await response.text();
  if (response.ok && scenario.isExpected(JSON.parse(text))) return;
  throw new CommandFailed(`${path} of ${variant.name} has an unexpected response: ${response.status} ${text}`);
}

/** The programs' CPU time is that of the whole run, with the opening of the connections. */
async function runRound(scenario: Scenario, variant: Variant, setup: Setup): Promise<Round> {
  const { url, key, counted } = setup.stackOf(variant);
  const request = () => scenario.request(variant.pets);
  const [before, startMs] = [snapshot(counted), performance.now()];
  const outcome = await runWrk({ ...setup, url, headers: headersOf(variant, key), request });
  const [after, tookUs] = [snapshot(counted), (performance.now() - startMs) * 1_000];
  const { count, seconds, p50Ms, p99Ms } = checked(outcome, `${scenario.name}, ${variant.name}`);
  const used = Object.entries(after.programs).map(([name, us]) => [name, us - (before.programs[name] ?? 0)] as const);
  const cpuUs = used.reduce((sum, [, us]) => sum + us, 0) / count;
  const programs = Object.fromEntries(used.map(([name, us]) => [name, us / count]));
  const othersShare = (after.othersUs - before.othersUs) / (tookUs * availableParallelism());
  return { perSecond: count / seconds, p50Ms, p99Ms, cpuUs, programs, othersShare };
}

function checked(outcome: Outcome, what: string): Outcome {
  const { count, failed, lost } = outcome;
  if (failed + lost === 0 && count > 0) return outcome;
  throw new CommandFailed(`${what}: ${count} responses, ${failed} of them failures, and ${lost} requests without one`);
}

function snapshot(counted: Counted) {
  const programs = Object.fromEntries(Object.entries(counted).map(([name, its]) => [name, cpuTimesUs(its)]));
  // wrk, servers and Envoy are children of this process, and PostgreSQL's processes are those of a child.
  const ownUs = cpuTimesUs({ pids: [process.pid], withChildren: true }) + (programs.postgres ?? 0);
  return { programs, othersUs: systemBusyUs() - ownUs };
}

export function headersOf({ headers }: Variant, key: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers };
}

/** How long all processors together have been busy since the system's start. */
function systemBusyUs(): number {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = line.trim().split(/\s+/).slice(1).map(Number);
  return (user + nice + system + irq + softirq) * US_PER_TICK;
}
