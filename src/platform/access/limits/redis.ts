/**
 * The limits of all servers together, in Redis.
 *
 * Algorithm: `redis.lua` decides on a request and counts it in one atomic step, in one round trip, so that the servers
 * together are as exact as one is in memory. Time is Redis's own. What Redis replies is kept in a memory limiter.
 *
 * Failure: a request never fails because of Redis, and waits for it no longer than a command may take. While Redis is
 * unavailable the memory limiter decides: each server counts alone from what it last knew. Each request brings along
 * what its server knows, and the script keeps the larger counts. So when Redis is back the largest counts stand,
 * whichever server comes first, also when Redis has lost its data; what the other servers counted meanwhile is lost.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { NAME } from '../../../identity.ts';
import { WINDOWS } from '../../config/plans.ts';
import { REPEATED_MS, STREAMS_KEPT_MS } from '../../config/times.ts';
import { type AccountId, type KeyId, toAccountId, toKeyId } from '../../rpc/caller.ts';
import type { BanPolicy } from './ban-tracker.ts';
import type { Attempt, Limiter, LimiterOptions, Outcome, Subject } from './limiter.ts';
import { subjectName, toDecision } from './limiter.ts';
import { createMemoryLimiter } from './memory.ts';
import { loadScript, RedisClient, type RedisClientOptions } from './redis-client.ts';
import { type Counter, LENGTHS_MS, newCounter } from './windows.ts';

const limitsScript = ({ durationMs, refusals, windowMs, graceMs }: BanPolicy) =>
  loadScript(new URL('./redis.lua', import.meta.url), {
    LENGTHS_MS: `{ ${LENGTHS_MS} }`,
    USED: `"^${'(%d+) '.repeat(2 * LENGTHS_MS.length)}(%d+)"`,
    ...{ REPEATED_MS, BAN_MS: durationMs, REFUSALS: refusals, WINDOW_MS: windowMs, GRACE_MS: graceMs },
  });
const STREAMS = loadScript(new URL('./streams.lua', import.meta.url));

/** Accounts that nobody has, probably on all nodes of a cluster. */
const PROBES = Array.from({ length: 16 }, (_, index) => toAccountId(-1n - BigInt(index)));

const NO_ROOM = WINDOWS.map(() => 0);

const SPAN = { 'db.system.name': 'redis', 'db.operation.name': 'EVALSHA' };

export interface RedisLimiterOptions extends LimiterOptions, RedisClientOptions {
  /** The beginning of all key names in Redis. Default: the service's name. */
  readonly prefix?: string;
  /** Whose time counts: Redis's own (the default), or that of each attempt. */
  readonly time?: 'redis' | 'attempt';
  /** Runs each call of Redis in a span. Undefined without a collector of traces. */
  readonly inSpan?: InSpan | undefined;
}

export type RedisLimiter = Awaited<ReturnType<typeof openRedisLimiter>>;

type Moment = Pick<Attempt, 'keyId' | 'requestId' | 'nowMs'>;
type Known = { readonly lastBanEndMs: number; readonly counter: Readonly<Counter> };
type InSpan = (name: string, attributes: typeof SPAN, work: () => Promise<unknown>) => Promise<unknown>;

/** Resolves when Redis is available, or after a second without it. */
export async function openRedisLimiter(options: RedisLimiterOptions) {
  const { ban, prefix = NAME, time = 'redis', inSpan = (_name, _attributes, work) => work() } = options;
  const client = new RedisClient(options);
  const memory = createMemoryLimiter(options);
  /** This server's name. A new process is a new server. */
  const server = randomUUID();
  const limits = limitsScript(ban);
  /** Probes of servers at the same time don't meet each other's bans. */
  const probeKey = toKeyId(-BigInt(randomInt(2 ** 47)));

  /** The braces make a cluster keep all entries of a subject on one node. */
  const nameOf = (subject: Subject, entry: string) => `${prefix}:{${subjectName(subject)}}:${entry}`;

  function run(action: string, subject: Subject, { keyId, requestId, nowMs }: Moment, args: (number | string)[]) {
    const ofKey =
      keyId === undefined ? [] : ['refusals', 'ban', 'first'].map((entry) => nameOf(subject, `${entry}:${keyId}`));
    if (action === 'admit' && requestId !== undefined) ofKey.push(nameOf(subject, `request:${requestId}`));
    const keys = [nameOf(subject, 'used'), ...ofKey];
    const all = [action, time === 'attempt' ? nowMs : 0, ...args].map(String);
    return inSpan(`limits.${action}`, SPAN, () => client.evaluate(limits, keys, all));
  }

  /** Undefined for what is not counted, and while Redis is unavailable. */
  function ask(action: 'admit' | 'read', asked: Subject & Moment, quotas = NO_ROOM): Promise<Outcome | undefined> {
    return client.run(async () => {
      const known = memory.known(asked, asked.nowMs);
      return known && toOutcome(await run(action, known.subject, asked, toArguments(known, quotas)));
    });
  }

  async function tellStreams(accountId: AccountId, own: number, max: number): Promise<boolean> {
    const name = nameOf({ kind: 'account', accountId }, 'streams');
    return toBoolean(await client.evaluate(STREAMS, [name], [server, own, max, STREAMS_KEPT_MS].map(String)));
  }

  async function unban(accountId: AccountId, keyId: KeyId): Promise<boolean> {
    return toBoolean(await run('unban', { kind: 'account', accountId }, { keyId, nowMs: 0 }, []));
  }

  /** Runs each command that requests run, writes too: what Redis refuses is known before they ask, and its cause. */
  async function probe(accountId: AccountId): Promise<void> {
    await unban(accountId, probeKey);
    const request = { keyId: probeKey, requestId: randomUUID(), nowMs: Date.now() };
    const noRoom = toArguments({ lastBanEndMs: 0, counter: newCounter(0) }, NO_ROOM);
    toOutcome(await run('admit', { kind: 'account', accountId }, request, noRoom));
    for (const own of [1, 0]) await tellStreams(accountId, own, Number.MAX_SAFE_INTEGER);
  }
  await client.start(() => Promise.all(PROBES.map(probe)));
  return {
    ...memory,
    async admit(attempt) {
      const quotas = WINDOWS.map(({ quota }) => Math.min(attempt.quota[quota], Number.MAX_SAFE_INTEGER));
      const outcome = await ask('admit', attempt, quotas);
      if (outcome !== undefined) memory.learn(attempt, outcome);
      return toDecision(attempt, outcome ?? memory.count(attempt), options);
    },
    async peek(attempt) {
      const state = await ask('read', attempt);
      return state === undefined ? { ...memory.peek(attempt), isLocal: true } : toDecision(attempt, state, options);
    },
    async countEventStreams(accountId, own, max) {
      return (await client.run(() => tellStreams(accountId, own, max))) ?? true;
    },
    async now() {
      const nowMs = Date.now();
      return (await ask('read', { kind: 'address', address: '', nowMs }))?.nowMs ?? nowMs;
    },
    async unban(accountId, keyId) {
      return (await client.run(() => unban(accountId, keyId))) === true && memory.unban(accountId, keyId);
    },
    get isDegraded() {
      return !client.isAvailable;
    },
    close: () => client.close(),
  } satisfies Limiter & Record<string, unknown>;
}

/** What redis.lua reads as numbers from ARGV[3] on: `quotas` are by the windows. */
function toArguments({ lastBanEndMs, counter }: Known, quotas: readonly number[]) {
  const { indices, counts, refused } = counter;
  return [lastBanEndMs, refused, ...quotas.flatMap((quota, at) => [indices[at] ?? 0, counts[at] ?? 0, quota])];
}

const OTHER_REPLY = 'the reply is not the one of the script';

function toBoolean(reply: unknown): boolean {
  if (reply !== 0 && reply !== 1) throw new Error(OTHER_REPLY);
  return reply === 1;
}

/** The reply is what redis.lua describes. */
function toOutcome(reply: unknown): Outcome {
  const [status, ...numbers] = reply as [Outcome['status'], ...number[]];
  if (numbers.length !== 3 + 2 * WINDOWS.length || !numbers.every(Number.isSafeInteger)) throw new Error(OTHER_REPLY);
  const [refused = 0, bannedUntilMs = 0, nowMs = 0, ...used] = numbers;
  const [indices, counts]: [number[], number[]] = [[], []];
  for (const [at, number] of used.entries()) (at % 2 === 0 ? indices : counts).push(number);
  return { status, counter: { indices, counts, refused }, bannedUntilMs, nowMs };
}
