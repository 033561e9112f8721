/**
 * Random readers: connections that request, read, stop and leave as their seed says. Afterwards the same processes run,
 * nothing is open, nothing has grown, and every response that was completed is well-formed.
 *
 * A seed decides what each reader does, one connection after the other, but not the times at which the service answers.
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '../chaos/random.ts';
import type { TestStack } from '../stack.ts';
import { until } from '../until.ts';
import { mib } from './bounds.ts';
import { leftOpen, usedBytes } from './probe.ts';
import { faultOf } from './reader-answers.ts';
import { type Connection, isPolite, nextConnection, type Plan } from './reader-plans.ts';
import { type Received, read } from './reading.ts';
import { MIB, pidsOf, rssBytes } from './resources.ts';
import { targetOf } from './sockets.ts';
import { storeLargestList } from './unread.ts';

interface Options {
  readonly seed: number;
  readonly lastsMs: number;
  /** The most that a request lasts. */
  readonly maxRequestMs: number;
  /** Whether the servers are replaced all the time. */
  readonly restarts?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (text: string) => void;
}

export interface ReadersReport {
  /** The number of requests by protocol and outcome. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly restarts: number;
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
  polite = 0;
  politeAnswered = 0;

  add(connection: Connection, plan: Plan, { outcome, answer }: Received): void {
    const name = `${plan.protocol} ${answer?.status ?? outcome}`;
    this.outcomes[name] = (this.outcomes[name] ?? 0) + 1;
    if (isPolite(connection, plan)) {
      this.polite += 1;
      if (answer !== undefined) this.politeAnswered += 1;
    }
    const fault = answer && catchFault(() => faultOf(plan, answer));
    if (fault === undefined) return;
    const kind = `${plan.protocol}: ${fault}`.slice(0, 300);
    const known = this.faults.get(kind);
    if (known === undefined) this.faults.set(kind, { first: plan, count: 1 });
    else known.count += 1;
  }

  get breaches(): string[] {
    const wrong = [...this.faults].map(
      ([what, { first, count }]) => `${what} (${count} times, first ${JSON.stringify(first).slice(0, 500)})`,
    );
    const isRude = this.politeAnswered < MIN_POLITE_SHARE * this.polite || this.polite === 0;
    return [
      ...wrong,
      ...(isRude ? [`only ${this.politeAnswered} of ${this.polite} polite readers had a response`] : []),
    ];
  }
}

function catchFault(check: () => string | undefined): string | undefined {
  try {
    return check();
  } catch (error) {
    return (error as Error).message;
  }
}

export async function runReaders(stack: TestStack, options: Options): Promise<ReadersReport> {
  const { seed, lastsMs, maxRequestMs, restarts: hasRestarts = false, signal, onProgress = () => undefined } = options;
  await storeLargestList(stack);
  const record = new Tallied();
  const random = new Random(seed);
  const readers = Array.from({ length: READERS }, () => random.fork());
  const readFor = async (ms: number) => {
    const endsAtMs = performance.now() + ms;
    const over = () => signal?.aborted || performance.now() > endsAtMs;
    await Promise.all(readers.map((own) => readOn(stack, own, record, { over, maxRequestMs })));
    signal?.throwIfAborted();
  };
  onProgress(`seed ${seed}: warming up`);
  await readFor(lastsMs * WARM_SHARE);
  await leftOpen(stack, CLOSE_MS);
  const before = await stateOf(stack);
  onProgress(`seed ${seed}: reading`);
  let restarts = 0;
  let isOver = false;
  const restarting = async () => {
    while (hasRestarts && !isOver) {
      await stack.stack.restart();
      restarts += 1;
      await delay(1_000);
    }
  };
  const restarted = restarting();
  await readFor(lastsMs * (1 - WARM_SHARE)).finally(() => {
    isOver = true;
  });
  await restarted;
  onProgress(`seed ${seed}: waiting for the end of what is open`);
  const left = await leftOpen(stack, CLOSE_MS);
  const breaches = [...record.breaches, ...(await lastWords(stack))];
  if (left !== undefined) breaches.push(`still open: ${left}`);
  await until(() => stack.stack.servers[0]?.isRunning, 'a server').catch(() => undefined);
  breaches.push(...changes(before, await stateOf(stack), hasRestarts));
  return { outcomes: record.outcomes, restarts, breaches };
}

interface Until {
  readonly over: () => boolean | undefined;
  readonly maxRequestMs: number;
}

async function readOn(stack: TestStack, random: Random, record: Tallied, { over, maxRequestMs }: Until): Promise<void> {
  while (!over()) {
    const connection = nextConnection(random, maxRequestMs);
    const target = targetOf(stack.publicAddress, `127.0.5.${random.int(1, 250)}`);
    await read(target, stack.key, connection, (plan, received) => record.add(connection, plan, received));
  }
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

type State = Awaited<ReturnType<typeof stateOf>>;

function changes(before: State, after: State, hasRestarts: boolean): string[] {
  const found: string[] = [];
  if (after.envoy !== before.envoy) found.push('Envoy ended');
  const envoyGrowth = after.envoyBytes - before.envoyBytes;
  if (envoyGrowth > MAX_ENVOY_GROWTH) found.push(`Envoy grew by ${mib(envoyGrowth)}`);
  if (hasRestarts) return found;
  const growth = after.usedBytes - before.usedBytes;
  if (after.server !== before.server) found.push('the server ended');
  else if (growth > MAX_KEPT_BYTES) found.push(`the server kept ${mib(growth)}`);
  return found;
}
