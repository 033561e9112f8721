/**
 * Calls of `redis.lua`: each reads and changes the state of one subject, in one atomic step and one round trip. Rejects
 * when Redis can't be reached or fails.
 */
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type AccountId, type KeyId, toKeyId } from '../model.ts';
import type { RedisClient } from '../redis/client.ts';
import type { AccountDay, LastSeen } from './account-counters.ts';
import type { AccountAttempt, AddressAttempt, Ban } from './limiter.ts';
import type { MemoryLimiterOptions } from './memory.ts';
import { type Subject, subjectName } from './subjects.ts';

const SCRIPT = readFileSync(new URL('./redis.lua', import.meta.url), 'utf8');
const SHA1 = createHash('sha1').update(SCRIPT).digest('hex');
/** The script takes the names of a key's entries with those of its account. A merge uses only the account's. */
const NO_KEY = toKeyId(0n);

type Status = 'admitted' | 'refused' | 'banned' | '';

/** The state of a subject in Redis after a call. */
export interface SubjectState extends LastSeen {
  /** The decision on a request; '' when the call was not about one. */
  readonly status: Status;
  /** The time that the script used. */
  readonly nowMs: number;
  /** The end of the key's ban, which was in force or began with this refusal; 0 without a ban. */
  readonly bannedUntilMs: number;
}

/** A ban, with the account of its key. */
export interface AccountBan extends Ban {
  readonly accountId: AccountId;
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
  /** Tells this server from the others that use the same Redis. */
  readonly #server = randomUUID().slice(0, 8);

  constructor(client: RedisClient, options: LimitScriptOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** `knownBanMs` is the end of the ban that this server knows of, or 0. */
  admitAccount(attempt: AccountAttempt, knownBanMs: number): Promise<SubjectState> {
    const { perMinute, perDay } = attempt.quota;
    const { durationMs, refusals, windowMs } = this.#options.ban;
    const quota = [perMinute, perDay].map((limit) => Math.min(limit, Number.MAX_SAFE_INTEGER));
    const args = [...quota, knownBanMs, durationMs, refusals, windowMs];
    return this.#run('admit', this.#names(attempt, attempt.keyId), attempt.nowMs, args);
  }

  admitAddress(attempt: AddressAttempt): Promise<SubjectState> {
    const quota = [this.#options.addresses.perMinute, Number.MAX_SAFE_INTEGER];
    return this.#run('admit', this.#names(attempt), attempt.nowMs, quota);
  }

  peek(subject: Subject, nowMs: number): Promise<SubjectState> {
    return this.#run('peek', this.#names(subject), nowMs, []);
  }

  /** Adds a ban that began elsewhere. The reply's `bannedUntilMs` is 0 if the ban has been ended since. */
  addBan({ accountId, keyId, untilMs }: AccountBan, nowMs: number): Promise<SubjectState> {
    const names = this.#names({ kind: 'account', accountId }, keyId);
    return this.#run('ban', names, nowMs, [untilMs, this.#options.ban.durationMs]);
  }

  /** Ends a ban. The reply's `bannedUntilMs` is the last end that a ban which has begun until now can have. */
  unban({ accountId, keyId, untilMs }: AccountBan, nowMs: number): Promise<SubjectState> {
    const names = this.#names({ kind: 'account', accountId }, keyId);
    return this.#run('unban', names, nowMs, [untilMs, this.#options.ban.durationMs]);
  }

  /** Adds what this server has counted by itself since it last saw the account in Redis. */
  merge({ accountId, counter, refused, lastSeen: seen }: AccountDay, nowMs: number): Promise<SubjectState> {
    const isSameMinute = seen.counter.minuteIndex === counter.minuteIndex;
    const [minuteSeen, ownMinute] = isSameMinute ? [seen.counter.minuteCount, seen.ownMinute] : [0, 0];
    const daySeen = seen.counter.dayCount;
    const minute = [counter.minuteIndex, minuteSeen, ownMinute, counter.minuteCount - minuteSeen];
    const day = [counter.dayIndex, daySeen, seen.ownDay, counter.dayCount - daySeen];
    const args = [seen.epoch, ...minute, ...day, seen.refused, 0, refused - seen.refused];
    return this.#run('merge', this.#names({ kind: 'account', accountId }, NO_KEY), nowMs, args);
  }

  /** The names of a subject's entries in Redis. The braces make a cluster keep them on one node. */
  #names(subject: Subject, keyId?: KeyId): string[] {
    const name = `${this.#options.prefix ?? 'petstore'}:{${subjectName(subject)}}`;
    if (keyId === undefined) return [`${name}:windows`];
    return [`${name}:windows`, `${name}:refusals:${keyId}`, `${name}:ban:${keyId}`];
  }

  async #run(action: string, names: string[], nowMs: number, args: (number | string)[]): Promise<SubjectState> {
    const time = this.#options.time === 'attempt' ? nowMs : 0;
    const strings = [action, time, this.#server, ...args].map(String);
    const reply = (await this.#client.run(SCRIPT, SHA1, names, strings)) as Reply;
    const [status, minuteIndex, minuteCount, dayIndex, dayCount, refused, usedMs, bannedUntilMs, ...seen] = reply;
    const [ownMinute, ownDay, epoch] = seen;
    const counter = { minuteIndex, minuteCount, dayIndex, dayCount };
    return { status, counter, refused, nowMs: usedMs, bannedUntilMs, ownMinute, ownDay, epoch };
  }
}

/** As redis.lua describes it. */
type Reply = [Status, number, number, number, number, number, number, number, number, number, string];
