/**
 * Random readers: connections that request, read, stop and leave as their seed says. Afterwards the same processes run,
 * nothing is open, nothing has grown, and every response that was completed is well-formed.
 *
 * A seed decides what each reader does, one connection after the other, but not the times at which the service answers.
 */
import { readFile } from 'node:fs/promises';
import { Random } from '../chaos/random.ts';
import type { TestStack } from '../stack.ts';
import { until } from '../until.ts';
import { faultOf } from './answers.ts';
import { mib } from './bounds.ts';
import { leftOpen, usedBytes } from './probe.ts';
import { type Connection, isPolite, nextConnection, type Plan } from './reader-plans.ts';
import { type Received, read } from './reading.ts';
import { MIB, pidsOf, rssBytes } from './resources.ts';
import { targetOf } from './sockets.ts';
import { storeLargestList } from './unread.ts';

export interface ReadersReport {
  /** The number of requests by protocol and outcome. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly breaches: readonly string[];
}

const READERS = 16;
/** The share of the time that warms the service up. */
const WARM_SHARE = 0.3;
const MAX_KEPT_BYTES = 8 * MIB;
const MAX_ENVOY_GROWTH = 64 * MIB;
const MIN_POLITE_SHARE = 0.99;
/** How long half a request may stay open. */
const CLOSE_MS = 45_000;

class Tallied {
  readonly outcomes: Record<string, number> = {};
  readonly faults = new Map<string, { readonly first: Plan; count: number }>();
  #polite = 0;
  #politeAnswered = 0;

  add(connection: Connection, plan: Plan, { outcome, answer }: Received): void {
    const name = `${plan.protocol} ${answer?.status ?? outcome}`;
    this.outcomes[name] = (this.outcomes[name] ?? 0) + 1;
    if (isPolite(connection, plan)) {
      this.#polite += 1;
      if (answer !== undefined) this.#politeAnswered += 1;
    }
    const fault = answer && faultOf({ ...plan, mayShed: true }, answer);
    if (fault === undefined) return;
    const kind = `${plan.protocol}: ${fault}`.slice(0, 300);
    const { first, count } = this.faults.get(kind) ?? { first: plan, count: 0 };
    this.faults.set(kind, { first, count: count + 1 });
  }

  get breaches(): string[] {
    const wrong = [...this.faults].map(
      ([what, { first, count }]) => `${what} (${count} times, first ${JSON.stringify(first).slice(0, 500)})`,
    );
    const isRude = this.#politeAnswered < MIN_POLITE_SHARE * this.#polite || this.#polite === 0;
    const rude = `only ${this.#politeAnswered} of ${this.#polite} polite readers had a response`;
    return isRude ? [...wrong, rude] : wrong;
  }
}

/** Readers whose requests last `maxRequestMs` at most. */
export async function runReaders(
  stack: TestStack,
  seed: number,
  lastsMs: number,
  maxRequestMs: number,
): Promise<ReadersReport> {
  await storeLargestList(stack);
  const record = new Tallied();
  const random = new Random(seed);
  const readers = Array.from({ length: READERS }, () => random.fork());
  const readOn = async (own: Random, endsAtMs: number) => {
    while (performance.now() < endsAtMs) {
      const connection = nextConnection(own, maxRequestMs);
      const target = targetOf(stack.publicAddress, `127.0.5.${own.int(1, 250)}`);
      await read(target, stack.key, connection, (plan, received) => record.add(connection, plan, received));
    }
  };
  const readFor = (ms: number) => Promise.all(readers.map((own) => readOn(own, performance.now() + ms)));
  await readFor(lastsMs * WARM_SHARE);
  await leftOpen(stack, CLOSE_MS);
  const before = await stateOf(stack);
  await readFor(lastsMs * (1 - WARM_SHARE));
  const left = await leftOpen(stack, CLOSE_MS);
  const breaches = [...record.breaches, ...(await lastWords(stack))];
  if (left !== undefined) breaches.push(`still open: ${left}`);
  await until(() => stack.stack.servers[0]?.isRunning, 'a server').catch(() => undefined);
  const after = await stateOf(stack);
  const [envoyGrowth, growth] = [after.envoyBytes - before.envoyBytes, after.usedBytes - before.usedBytes];
  if (after.envoy !== before.envoy) breaches.push('Envoy ended');
  if (after.server !== before.server) breaches.push('the server ended');
  if (envoyGrowth > MAX_ENVOY_GROWTH) breaches.push(`Envoy grew by ${mib(envoyGrowth)}`);
  if (growth > MAX_KEPT_BYTES) breaches.push(`the server kept ${mib(growth)}`);
  return { outcomes: record.outcomes, breaches };
}

/** Why servers have ended, from their logs. */
async function lastWords({ stack }: TestStack): Promise<string[]> {
  const logs = await Promise.all(stack.servers.map(({ log }) => readFile(log.path, 'utf8')));
  return logs.flatMap((log) => log.match(/^petstore: .*/gm) ?? []).map((line) => `a server ended: ${line}`);
}

async function stateOf(stack: TestStack) {
  const { envoy, server } = pidsOf(stack);
  return { envoy, server, usedBytes: await usedBytes(stack), envoyBytes: rssBytes(envoy) };
}
