/** The limits' state in Redis as TypeScript sees it: keys, and each step of `redis.lua` with its arguments and reply. */
import { readFileSync } from 'node:fs';
import { type RedisConnection, redisScript } from '../redis/connection.ts';
import type { BanPolicy } from './bans.ts';
import type { Attempt } from './limiter.ts';
import type { Counter, Quota } from './windows.ts';

const script = redisScript(readFileSync(new URL('./redis.lua', import.meta.url), 'utf8'));

/** Enough for the nodes of a cluster of three; one with more may have a node that is noticed by a request. */
const PROBES = 16;

/** What Redis says of a subject, after the step. */
export interface RedisState {
  readonly status: 'passed' | 'refused' | 'banned';
  readonly counter: Counter;
  readonly refused: number;
  /** The time that it judged by: the latest that it has heard. */
  readonly nowMs: number;
  /** The end of the key's ban: of the one that was in force, or that began with this refusal. */
  readonly bannedUntilMs: number | undefined;
  /** Another one: Redis has lost what it had counted. */
  readonly life: string;
}

/** What one server counted by itself, on top of what it last heard from Redis. */
export interface Count {
  readonly heard: number;
  readonly since: number;
}

export interface MergeRequest {
  readonly subject: string;
  readonly nowMs: number;
  /** The life that the counts are of, '' when they are not from Redis. */
  readonly life: string;
  readonly minuteIndex: number;
  readonly minute: Count;
  readonly dayIndex: number;
  readonly day: Count;
  readonly refused: Count;
}

export class RedisStates {
  readonly #prefix: string;
  readonly #ban: readonly string[];

  constructor(prefix: string, { refusals, windowMs, durationMs }: BanPolicy) {
    this.#prefix = prefix;
    this.#ban = [refusals, windowMs, durationMs].map(String);
  }

  async admit(redis: RedisConnection, attempt: Attempt, quota: Quota, knownBanMs: number): Promise<RedisState> {
    const { kind, subject, nowMs } = attempt;
    const limits = [quota.perMinute, quota.perDay].map(toLimit);
    if (kind === 'address') return run(redis, this.#windows(kind, subject), ['admit', String(nowMs), ...limits]);
    const args = ['admit', String(nowMs), ...limits, String(knownBanMs), ...this.#ban];
    return run(redis, this.#ofKey(subject, attempt.key), args);
  }

  async peek(redis: RedisConnection, { kind, subject, nowMs }: Attempt): Promise<RedisState> {
    return run(redis, this.#windows(kind, subject), ['peek', String(nowMs)]);
  }

  async ban(redis: RedisConnection, subject: string, key: string, untilMs: number, nowMs: number): Promise<void> {
    await run(redis, this.#ofKey(subject, key), ['ban', String(nowMs), String(untilMs)]);
  }

  async merge(redis: RedisConnection, request: MergeRequest): Promise<RedisState> {
    const { subject, nowMs, life, minuteIndex, minute, dayIndex, day, refused } = request;
    const counts = [minuteIndex, minute.heard, minute.since, dayIndex, day.heard, day.since];
    const numbers = [...counts, refused.heard, refused.since].map(String);
    return run(redis, this.#ofKey(subject, '-'), ['merge', String(nowMs), life, ...numbers]);
  }

  /**
   * Sees whether Redis does what requests will ask of it, on every node of a cluster: the name of each of these
   * addresses, which nobody has, is likely another node's. From here on they all know the script.
   */
  async probe(redis: RedisConnection): Promise<void> {
    const quota = { perMinute: Number.POSITIVE_INFINITY, perDay: Number.POSITIVE_INFINITY }; // so that it writes
    const names = Array.from({ length: PROBES }, (_, index) => `probe ${index}`);
    await Promise.all(names.map((subject) => this.admit(redis, { kind: 'address', subject, nowMs: 0 }, quota, 0)));
  }

  /** All keys of a subject have its name in braces: a cluster keeps them together. */
  #windows(kind: Attempt['kind'], subject: string): string[] {
    return [`${this.#prefix}:{${kind}:${subject}}:windows`];
  }

  #ofKey(subject: string, key: string): string[] {
    const account = `${this.#prefix}:{account:${subject}}`;
    return [`${account}:windows`, `${account}:refusals:${key}`, `${account}:ban:${key}`];
  }
}

/** Lua reads numbers, and has no word for infinity. */
function toLimit(limit: number): string {
  return String(Math.min(limit, Number.MAX_SAFE_INTEGER));
}

const STATUS = ['refused', 'passed', 'banned'] as const;

async function run(redis: RedisConnection, keys: string[], args: string[]): Promise<RedisState> {
  const reply = (await redis.run(script, keys, args)) as [...Numbers<8>, string];
  const [status, minuteIndex, minuteCount, dayIndex, dayCount, refused, nowMs, untilMs, life] = reply;
  return {
    status: STATUS[status] ?? 'refused',
    counter: { minuteIndex, minuteCount, dayIndex, dayCount },
    refused,
    nowMs,
    bannedUntilMs: untilMs === 0 ? undefined : untilMs,
    life,
  };
}

type Numbers<N extends number, T extends number[] = []> = T['length'] extends N ? T : Numbers<N, [...T, number]>;
