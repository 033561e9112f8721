/**
 * The load generator's process, with jobs over the IPC channel. It stays for the whole benchmark, so that its own
 * warm-up is in no measurement. CPU times and the number of responses are read at the same instants while the load
 * runs, so that neither its beginning nor its end is counted.
 */
import { availableParallelism } from 'node:os';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { cpuTimesUs, cpuTimeUs, systemBusyUs } from '../test/support/machine/cpu-time.ts';
import { quantile } from '../test/support/numbers.ts';
import { ConnectionPool, type Result } from './http-client.ts';
import { type Counted, type Job, type Latencies, type Outcome, UNIQUE } from './load.ts';

/** So many requests are sent before responses are read. */
const BURST = 64;
const RETRY_MS = 50;
/** Unique among all jobs. */
let lastUnique = 0;

process.on('message', (job: Job) => {
  run(job).then(
    (outcome) => process.send?.(outcome),
    (error: Error) => process.send?.({ failure: error.message }),
  );
});
process.on('disconnect', () => process.exit()); // the benchmark has ended

class Tally {
  okMs: number[] = [];
  shedMs: number[] = [];
  lateMs: number[] = [];
  others: Record<string, number> = {};
  sent = 0;
  unsent = 0;
  clientsServed = 0;

  count(result: Result, startMs: number): void {
    if (isOk(result)) this.okMs.push(performance.now() - startMs);
    else if (result === 503) this.shedMs.push(performance.now() - startMs);
    else this.others[result] = (this.others[result] ?? 0) + 1;
  }
}

class Load {
  readonly #pool: ConnectionPool;
  readonly #requests: readonly (Buffer | string)[];
  #next = 0;
  tally = new Tally();
  isOver = false;

  constructor({ target, requests, connections }: Job) {
    this.#pool = new ConnectionPool(target, connections);
    this.#requests = requests.map((text) => (text.includes(UNIQUE) ? text : Buffer.from(text)));
  }

  /** Sends the next request. Returns whether a connection was free. */
  send(onResult: (result: Result, retryAfterS: number | undefined) => void): boolean {
    const number = this.#next++;
    const request = this.#requests[number % this.#requests.length] ?? '';
    const bytes = typeof request === 'string' ? Buffer.from(request.replace(UNIQUE, `${++lastUnique}`)) : request;
    const isSent = this.#pool.send(bytes, onResult);
    if (isSent) this.tally.sent += 1;
    else this.tally.unsent += 1;
    return isSent;
  }

  close(): void {
    this.#pool.close();
  }
}

async function run(job: Job): Promise<Outcome> {
  const { connections, perSecond, leadInMs, measureMs, counted } = job;
  const load = new Load(job);
  const running = perSecond === undefined ? runClosedLoop(load, connections) : runOpenLoop(load, perSecond);
  await delay(leadInMs);
  const tally = new Tally();
  load.tally = tally;
  const before = snapshot(counted);
  await delay(measureMs);
  const after = snapshot(counted);
  const seconds = (after.atMs - before.atMs) / 1000;
  const [ok, shed, { sent }] = [tally.okMs.length, tally.shedMs.length, tally];
  load.isOver = true;
  await running;
  load.close();

  const used = Object.entries(after.usedUs).map(([name, us]) => [name, us - (before.usedUs[name] ?? 0)] as const);
  const ended = used.find(([, us]) => us < 0);
  if (ended !== undefined) throw new Error(`a process of ${ended[0]} has ended`);
  const othersUs = after.othersUs - before.othersUs;
  return {
    ok: latencies(tally.okMs, ok / seconds),
    shed: latencies(tally.shedMs, shed / seconds),
    others: tally.others,
    sentPerSecond: sent / seconds,
    unsent: tally.unsent,
    lateP99Ms: latencies(tally.lateMs, sent / seconds).p99Ms,
    clientsServed: tally.clientsServed,
    cpuUs: Object.fromEntries(used.map(([name, us]) => [name, us / ok])),
    othersShare: Math.max(0, othersUs / (seconds * 1_000_000 * availableParallelism())),
  };
}

async function runOpenLoop(load: Load, perSecond: number): Promise<void> {
  const startMs = performance.now();
  let open = 0;
  const allEnded = Promise.withResolvers<void>();
  for (let number = 0; !load.isOver; ) {
    const dueMs = startMs + (number * 1000) / perSecond;
    const lateMs = performance.now() - dueMs;
    if (lateMs < 0) {
      await delay(1);
      continue;
    }
    const isSent = load.send((result) => {
      load.tally.count(result, dueMs);
      open -= 1;
      if (load.isOver && open === 0) allEnded.resolve();
    });
    if (isSent) {
      open += 1;
      load.tally.lateMs.push(lateMs);
    }
    number += 1;
    if (number % BURST === 0) await nextTurn();
  }
  if (open > 0) await allEnded.promise;
}

async function runClosedLoop(load: Load, clients: number): Promise<void> {
  const ask = () =>
    new Promise<{ result: Result; retryAfterS: number | undefined }>((resolve) => {
      const isSent = load.send((result, retryAfterS) => resolve({ result, retryAfterS }));
      if (!isSent) resolve({ result: 'connection error', retryAfterS: undefined });
    });
  const runClient = async () => {
    let wasServed = false;
    let wantedAtMs = performance.now();
    while (!load.isOver) {
      const sentAtMs = performance.now();
      const { result, retryAfterS } = await ask();
      load.tally.count(result, isOk(result) ? wantedAtMs : sentAtMs);
      if (isOk(result)) {
        if (!wasServed) load.tally.clientsServed += 1;
        wasServed = true;
        wantedAtMs = performance.now();
      } else await delay(retryAfterS === undefined ? RETRY_MS : retryAfterS * 1000);
    }
  };
  await Promise.all(Array.from({ length: clients }, runClient));
}

function isOk(result: Result): boolean {
  return typeof result === 'number' && result >= 200 && result <= 299;
}

function latencies(valuesMs: readonly number[], perSecond: number): Latencies {
  const ascending = Float64Array.from(valuesMs.length === 0 ? [0] : valuesMs).sort();
  const [p50Ms, p99Ms, maxMs] = [0.5, 0.99, 1].map((share) => quantile(ascending, share)) as [number, number, number];
  return { count: valuesMs.length, perSecond, p50Ms, p99Ms, maxMs };
}

function snapshot(counted: Counted) {
  const used = Object.entries(counted).map(([name, processes]) => [name, cpuTimesUs(processes)] as const);
  const ownUs = used.reduce((sum, [, us]) => sum + us, cpuTimeUs(process.pid));
  return { atMs: performance.now(), usedUs: Object.fromEntries(used), othersUs: systemBusyUs() - ownUs };
}
