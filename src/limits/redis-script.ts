/**
 * Calls of `redis.lua`: each reads and changes the state of one subject, in one atomic step and one round trip. Rejects
 * when Redis can't be reached or fails.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { AccountId, KeyId } from '../model.ts';
import type { RedisClient } from '../redis/client.ts';
import type { Attempt } from './limiter.ts';
import { type Known, type Learned, type MemoryLimiterOptions, quotaOfAddresses } from './memory.ts';
import { type Subject, subjectName } from './subjects.ts';
import type { Counter } from './windows.ts';

const SCRIPT = readFileSync(new URL('./redis.lua', import.meta.url), 'utf8');
const SHA1 = createHash('sha1').update(SCRIPT).digest('hex');
const NOTHING_USED = [0, 0, 0, 0, 0];

type Status = 'admitted' | 'refused' | 'banned' | '';

/** The state of a subject in Redis after a call. */
export interface SubjectState extends Learned {
  /** The decision on a request; '' when the call was not about one. */
  readonly status: Status;
  readonly counter: Counter;
}

export interface LimitScriptOptions extends Pick<MemoryLimiterOptions, 'ban' | 'addresses'> {
  /** The beginning of all key names in Redis. Default: `petstore`. */
  readonly prefix?: string;
  /** Whose time counts: Redis's own (the default), or that of each attempt. */
  readonly time?: 'redis' | 'attempt';
}

export class LimitScript {
  readonly #client: RedisClient;
  readonly #options: LimitScriptOptions;
  readonly #policy: readonly number[];

  constructor(client: RedisClient, options: LimitScriptOptions) {
    this.#client = client;
    this.#options = options;
    this.#policy = [options.ban.durationMs, options.ban.refusals, options.ban.windowMs];
  }

  async admit(attempt: Attempt, { subject, lastBanEndMs, ...used }: Known): Promise<SubjectState> {
    const isAccount = attempt.kind === 'account';
    const { perMinute, perDay } = isAccount ? attempt.quota : quotaOfAddresses(this.#options);
    const quota = [perMinute, perDay].map((limit) => Math.min(limit, Number.MAX_SAFE_INTEGER));
    const args = isAccount ? [...quota, lastBanEndMs, ...this.#policy] : quota;
    const names = this.#names(subject, isAccount ? attempt.keyId : undefined);
    return toState(await this.#run('admit', names, attempt.nowMs, [...toArgs(used), ...args]));
  }

  async read({ subject, ...used }: Known, nowMs: number): Promise<SubjectState> {
    return toState(await this.#run('read', this.#names(subject), nowMs, toArgs(used)));
  }

  /** Ends a ban. Resolves with the latest end that a ban can have which began until now. */
  async unban(accountId: AccountId, keyId: KeyId, nowMs: number): Promise<number> {
    const names = this.#names({ kind: 'account', accountId }, keyId);
    return (await this.#run('unban', names, nowMs, [...NOTHING_USED, 0, 0, 0, ...this.#policy])) as number;
  }

  /** The names of a subject's entries in Redis. The braces make a cluster keep them on one node. */
  #names(subject: Subject, keyId?: KeyId): string[] {
    const name = `${this.#options.prefix ?? 'petstore'}:{${subjectName(subject)}}`;
    if (keyId === undefined) return [`${name}:used`];
    return [`${name}:used`, `${name}:refusals:${keyId}`, `${name}:ban:${keyId}`];
  }

  #run(action: string, names: string[], nowMs: number, args: readonly number[]): Promise<unknown> {
    const time = this.#options.time === 'attempt' ? nowMs : 0;
    return this.#client.run(SCRIPT, SHA1, names, [action, time, ...args].map(String));
  }
}

function toArgs({ counter, refused }: Pick<Known, 'counter' | 'refused'>): number[] {
  return [counter.minuteIndex, counter.minuteCount, counter.dayIndex, counter.dayCount, refused];
}

function toState(reply: unknown): SubjectState {
  const [status, minuteIndex, minuteCount, dayIndex, dayCount, refused, bannedUntilMs, nowMs] = reply as Reply;
  return { status, counter: { minuteIndex, minuteCount, dayIndex, dayCount }, refused, bannedUntilMs, nowMs };
}

/** As redis.lua describes it. */
type Reply = [Status, number, number, number, number, number, number, number];
