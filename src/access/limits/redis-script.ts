/**
 * Calls of `redis.lua` and `streams.lua`: each reads and changes the state of one subject, in one atomic step and one
 * round trip. Rejects when Redis can't be reached or fails.
 */
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { AccountId, KeyId } from '../../rpc/caller.ts';
import { type Attempt, type Subject, subjectName } from './limiter.ts';
import { type Known, type Learned, type MemoryLimiterOptions, quotaOf } from './memory.ts';
import type { RedisClient } from './redis-client.ts';

const LIMITS = load('./redis.lua');
const STREAMS = load('./streams.lua');

function load(file: string): readonly [script: string, sha1: string] {
  const script = readFileSync(new URL(file, import.meta.url), 'utf8');
  return [script, createHash('sha1').update(script).digest('hex')];
}

/** The state of a subject in Redis after a call. */
export interface SubjectState extends Learned {
  /** The decision on a request; '' when the call was not about one. */
  readonly status: 'admitted' | 'refused' | 'banned' | '';
}

export interface LimitScriptOptions extends Pick<MemoryLimiterOptions, 'ban' | 'addresses'> {
  /** The beginning of all key names in Redis. Default: `petstore`. */
  readonly prefix?: string;
  /** Whose time counts: Redis's own (the default), or that of each attempt. */
  readonly time?: 'redis' | 'attempt';
}

export function createLimitScript(client: RedisClient, options: LimitScriptOptions) {
  const { ban, prefix = 'petstore', time = 'redis' } = options;

  /** This server's. A new process is a new server. */
  const server = randomUUID();

  /** The braces make a cluster keep all entries of a subject on one node. */
  const nameOf = (subject: Subject) => `${prefix}:{${subjectName(subject)}}`;

  /** The names of a subject's entries in Redis. */
  function namesOf(subject: Subject, keyId?: KeyId): string[] {
    const name = nameOf(subject);
    return [`${name}:used`, ...(keyId === undefined ? [] : [`${name}:refusals:${keyId}`, `${name}:ban:${keyId}`])];
  }

  function run(action: string, names: string[], nowMs: number, args: readonly (number | string)[]): Promise<unknown> {
    const common = [action, time === 'attempt' ? nowMs : 0, ban.durationMs, ban.refusals, ban.windowMs];
    return client.evaluate(...LIMITS, names, [...common, ...args].map(String));
  }

  return {
    /** Decides on a request, and counts it if it is admitted. */
    async admit(attempt: Attempt, known: Known): Promise<SubjectState> {
      const { perMinute, perDay } = quotaOf(attempt, options);
      const quota = [perMinute, perDay].map((limit) => Math.min(limit, Number.MAX_SAFE_INTEGER));
      const names = namesOf(known.subject, attempt.kind === 'account' ? attempt.keyId : undefined);
      return toState(await run('admit', names, attempt.nowMs, [toText(known), ...quota, known.lastBanEndMs]));
    },

    async read(known: Known, nowMs: number): Promise<SubjectState> {
      return toState(await run('read', namesOf(known.subject), nowMs, [toText(known)]));
    },

    /** Ends a ban. Resolves with the latest end that a ban can have which began until now. */
    async unban(accountId: AccountId, keyId: KeyId, nowMs: number): Promise<number> {
      return (await run('unban', namesOf({ kind: 'account', accountId }, keyId), nowMs, [])) as number;
    },

    /** Tells how many streams of an account this server has. Resolves with false if those of all are too many. */
    async streams(accountId: AccountId, own: number, max: number): Promise<boolean> {
      const name = `${nameOf({ kind: 'account', accountId })}:streams`;
      return (await client.evaluate(...STREAMS, [name], [server, String(own), String(max)])) === 1;
    },
  };
}

function toText({ counter }: Known): string {
  const { minuteIndex, minuteCount, dayIndex, dayCount, refused } = counter;
  return `${minuteIndex} ${minuteCount} ${dayIndex} ${dayCount} ${refused}`;
}

/** The reply is what redis.lua describes. */
function toState(reply: unknown): SubjectState {
  const [status, minuteIndex, minuteCount, dayIndex, dayCount, refused, bannedUntilMs, nowMs] = reply as Reply;
  return { status, counter: { minuteIndex, minuteCount, dayIndex, dayCount, refused }, bannedUntilMs, nowMs };
}

type Reply = [SubjectState['status'], number, number, number, number, number, number, number];
