/**
 * The load generator of the overload benchmark: a process of its own, so that it can have a core of its own. It takes
 * jobs over the channel.
 *
 * In an open loop requests are due at fixed times, whatever becomes of those before: that is what many independent
 * callers are. Latency counts from the time when a request was due, so that a generator that is late looks slow and
 * never fast.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { cpuTimesUs, cpuTimeUs } from './cpu.ts';
import { quantile } from './numbers.ts';
import { Pool, type RawRequest, type Result } from './overload-client.ts';
import type { ClosedJob, ClosedOutcome, Job, Latencies, OpenJob, OpenOutcome, Outcome } from './overload-load.ts';

const TIMEOUT_MS = 10_000;
/** How often a light load asks, during the load for health and after it for an ordinary answer. */
const LIGHT_PER_SECOND = 20;
/** What an answer to a light load may take. */
const NORMAL_MS = 100;
/** So many right answers in a row are normal. */
const NORMAL_ANSWERS = 20;
/** A service that is not normal by then is not for this load. */
const MAX_RECOVERY_MS = 20_000;
/** So near to a call that was shed /healthz may be 503. */
const NEAR_MS = 250;

process.on('message', (job: Job) => {
  run(job).then(
    (outcome) => process.send?.(outcome),
    (error: Error) => process.send?.({ failure: error.stack ?? error.message } satisfies Outcome),
  );
});
process.on('disconnect', () => process.exit()); // nobody is left to load for

function run(job: Job): Promise<Outcome> {
  return job.kind === 'open' ? offer(job) : loop(job);
}

/** Requests that are due at fixed times. */
interface Schedule {
  readonly pool: Pool;
  readonly requests: readonly RawRequest[];
  readonly perSecond: number;
  /** Asked before each request. */
  readonly isOver: (elapsedMs: number) => boolean;
  readonly onEnd: (result: Result, dueMs: number) => void;
}

/** Resolves with how many were sent, were not sent for lack of a connection, and were sent how late. */
async function keepTo({ pool, requests, perSecond, isOver, onEnd }: Schedule) {
  const startMs = performance.now();
  const lateMs: number[] = [];
  let [open, sent, unsent] = [0, 0, 0];
  const { promise: allEnded, resolve } = Promise.withResolvers<void>();
  let isDone = false;
  for (let due = startMs; !isOver(due - startMs); due = startMs + ((sent + unsent) * 1000) / perSecond) {
    const nowMs = performance.now();
    if (nowMs < due) {
      await delay(1);
      continue;
    }
    const request = requests[(sent + unsent) % requests.length];
    if (request === undefined) throw new RangeError('there are no requests');
    const dueMs = due;
    const wasSent = pool.send(request, TIMEOUT_MS, (result) => {
      open -= 1;
      onEnd(result, dueMs);
      if (isDone && open === 0) resolve();
    });
    if (wasSent) {
      open += 1;
      sent += 1;
      lateMs.push(nowMs - due);
    } else unsent += 1;
    if ((sent + unsent) % 64 === 0) await new Promise(setImmediate); // answers wait to be read
  }
  const seconds = (performance.now() - startMs) / 1000;
  isDone = true;
  if (open > 0) await allEnded;
  return { sent, unsent, seconds, lateMs };
}

async function offer(job: OpenJob): Promise<OpenOutcome> {
  const requests = job.requests.map((text) => Buffer.from(text));
  const okMs: number[] = [];
  const shedMs: number[] = [];
  const shedAtMs: number[] = [];
  const others: Record<string, number> = {};
  const pool = new Pool(job.target, job.maxConnections);
  let isOffering = true;
  const health = watchHealth(job, () => !isOffering);
  const before = look(job);
  const startMs = performance.now();
  const { sent, unsent, seconds, lateMs } = await keepTo({
    pool,
    requests,
    perSecond: job.perSecond,
    isOver: (elapsedMs) => elapsedMs >= job.seconds * 1000,
    onEnd: (result, dueMs) => {
      const nowMs = performance.now();
      if (isOk(result)) okMs.push(nowMs - dueMs);
      else if (result === 503) {
        shedMs.push(nowMs - dueMs);
        shedAtMs.push(nowMs);
      } else others[result] = (others[result] ?? 0) + 1;
    },
  });
  const lastEndS = (performance.now() - startMs) / 1000;
  const used = usedSince(before, look(job), lastEndS);
  isOffering = false;
  const connections = pool.size;
  pool.close();
  const healthResults = await health;
  const recoveryS = await untilNormal(job);
  return {
    sent,
    unsent,
    seconds,
    lastEndS,
    connections,
    lateP99Ms: summary(lateMs).p99Ms,
    ok: summary(okMs),
    shed: summary(shedMs),
    others,
    recoveryS,
    used,
    health: judgeHealth(healthResults, shedAtMs),
  };
}

interface HealthResult {
  readonly result: Result;
  readonly dueMs: number;
  readonly endMs: number;
}

async function watchHealth({ target, healthRequest }: OpenJob, isOver: () => boolean): Promise<HealthResult[]> {
  const pool = new Pool(target, 100);
  const results: HealthResult[] = [];
  await keepTo({
    pool,
    requests: [Buffer.from(healthRequest)],
    perSecond: LIGHT_PER_SECOND,
    isOver,
    onEnd: (result, dueMs) => results.push({ result, dueMs, endMs: performance.now() }),
  });
  pool.close();
  return results;
}

function judgeHealth(results: readonly HealthResult[], shedAtMs: readonly number[]): OpenOutcome['health'] {
  const refused = results.filter(({ result }) => result === 503);
  const stray = refused.filter(({ dueMs, endMs }) => {
    return !shedAtMs.some((atMs) => atMs > dueMs - NEAR_MS && atMs < endMs + NEAR_MS);
  });
  const ok = results.filter(({ result }) => result === 200).length;
  return { ok, refused: refused.length, stray: stray.length, failed: results.length - ok - refused.length };
}

/** Seconds until answers are right and fast again. */
async function untilNormal({ target, lightRequest }: OpenJob): Promise<number | undefined> {
  const pool = new Pool(target, 100);
  const startMs = performance.now();
  let good = 0;
  let lastBadMs = startMs;
  await keepTo({
    pool,
    requests: [Buffer.from(lightRequest)],
    perSecond: LIGHT_PER_SECOND,
    isOver: (elapsedMs) => good >= NORMAL_ANSWERS || elapsedMs > MAX_RECOVERY_MS,
    onEnd: (result, dueMs) => {
      const nowMs = performance.now();
      if (isOk(result) && nowMs - dueMs < NORMAL_MS) {
        good += 1;
        return;
      }
      good = 0;
      lastBadMs = nowMs;
    },
  });
  pool.close();
  return good >= NORMAL_ANSWERS ? (lastBadMs - startMs) / 1000 : undefined;
}

/** Clients that each wait for an answer before they ask again, and after a 503 for as long as it says. */
async function loop({ target, requests, clients, seconds, timed }: ClosedJob): Promise<ClosedOutcome> {
  const raw = requests.map((text) => Buffer.from(text));
  const pool = new Pool(target, clients);
  const startMs = performance.now();
  const endMs = startMs + seconds * 1000;
  const servedMs: number[] = [];
  const others: Record<string, number> = {};
  let [next, shed, clientsServed] = [0, 0, 0];
  const before = look({ timed });
  const ask = () =>
    new Promise<{ result: Result; retryAfterS: number | undefined }>((resolve) => {
      const request = raw[next++ % raw.length];
      if (request === undefined) throw new RangeError('there are no requests');
      const wasSent = pool.send(request, TIMEOUT_MS, (result, retryAfterS) => resolve({ result, retryAfterS }));
      if (!wasSent) resolve({ result: 'connection error', retryAfterS: undefined });
    });
  const client = async () => {
    let wantedSinceMs = performance.now();
    let wasServed = false;
    while (performance.now() < endMs) {
      const { result, retryAfterS } = await ask();
      if (isOk(result)) {
        const nowMs = performance.now();
        if (!wasServed) clientsServed += 1;
        wasServed = true;
        servedMs.push(nowMs - wantedSinceMs);
        wantedSinceMs = nowMs;
      } else if (result === 503 && retryAfterS !== undefined) {
        shed += 1;
        await delay(retryAfterS * 1000);
      } else {
        others[result] = (others[result] ?? 0) + 1;
        await delay(50);
      }
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  const tookS = (performance.now() - startMs) / 1000;
  pool.close();
  const used = usedSince(before, look({ timed }), tookS);
  return { seconds: tookS, served: summary(servedMs), clientsServed, shed, others, used };
}

function isOk(result: Result): boolean {
  return typeof result === 'number' && result >= 200 && result <= 299;
}

function summary(valuesMs: readonly number[]): Latencies {
  if (valuesMs.length === 0) return { count: 0, p50Ms: undefined, p99Ms: undefined, maxMs: undefined };
  const ascending = Float64Array.from(valuesMs).sort();
  return {
    count: ascending.length,
    p50Ms: quantile(ascending, 0.5),
    p99Ms: quantile(ascending, 0.99),
    maxMs: quantile(ascending, 1),
  };
}

type Used = ReadonlyMap<string, number | undefined>;

/** What each program has used so far, in microseconds, the generator among them. */
function look({ timed }: Pick<Job, 'timed'>): Used {
  const programs = Object.entries(timed).map(([name, processes]) => [name, cpuTimesUs(processes)] as const);
  return new Map([...programs, ['generator', cpuTimeUs(process.pid)]]);
}

/** As cores. */
function usedSince(before: Used, after: Used, seconds: number): Record<string, number> {
  const found: Record<string, number> = {};
  for (const [name, us] of after) {
    const beforeUs = before.get(name);
    if (us !== undefined && beforeUs !== undefined) found[name] = (us - beforeUs) / 1_000_000 / seconds;
  }
  return found;
}
