/**
 * Bans: a key that keeps sending after refusals is banned for a while.
 *
 * The minute slides and is exact: the Nth refusal bans the key when the oldest of its last N refusals is no more than a
 * minute old. A refusal during the ban is not recorded: it neither prolongs the ban nor counts after it.
 *
 * A ban never lasts longer than its length: one that ends later than a new one would was set by a wrong clock, and does
 * not hold.
 *
 * All methods are synchronous and take the time as an argument. Bans live in memory: to keep them over a restart, store
 * what `recordRefusal` returns and pass it to `restore`. Idle keys are dropped once in the time of a window.
 */
import type { KeyId } from '../../rpc/caller.ts';
import type { Ban, BanPolicy } from '../tables/model.ts';
import type { Banned } from './limiter.ts';
import { type Reading, secondsUntil } from './windows.ts';

interface Offender {
  /** The times of the last refusals, `BanPolicy.refusals` of them at most. */
  readonly timesMs: number[];
  bannedUntilMs: number;
}

export class BanTracker {
  readonly #policy: BanPolicy;
  readonly #offenders = new Map<KeyId, Offender>();
  #droppedMs = Number.NEGATIVE_INFINITY;

  constructor(policy: BanPolicy) {
    this.#policy = policy;
  }

  /** How many keys are tracked, banned or not. */
  get size(): number {
    return this.#offenders.size;
  }

  /** Records a refusal. Returns the end of the ban when the key is banned, by this refusal or already. */
  recordRefusal(keyId: KeyId, nowMs: number): number | undefined {
    const offender = this.#track(keyId, nowMs);
    if (this.#isBanned(offender, nowMs)) return offender.bannedUntilMs;
    const { timesMs } = offender;
    const { refusals, windowMs, durationMs } = this.#policy;
    if (timesMs.length === refusals) timesMs.shift();
    const oldestMs = timesMs.push(nowMs) === refusals ? timesMs[0] : undefined;
    if (oldestMs === undefined || Math.abs(nowMs - oldestMs) > windowMs) return undefined;
    offender.bannedUntilMs = nowMs + durationMs;
    timesMs.length = 0;
    return offender.bannedUntilMs;
  }

  /** Returns the end of the ban if the key is banned now. The end itself is not part of the ban. */
  bannedUntil(keyId: KeyId, nowMs: number): number | undefined {
    const offender = this.#offenders.get(keyId);
    return offender !== undefined && this.#isBanned(offender, nowMs) ? offender.bannedUntilMs : undefined;
  }

  /** Returns the end of the key's last ban, whether it holds or not; 0 if none is known. */
  lastEnd(keyId: KeyId): number {
    return this.#offenders.get(keyId)?.bannedUntilMs ?? 0;
  }

  /** Restores a ban that was stored. */
  restore(keyId: KeyId, untilMs: number, nowMs: number): void {
    this.#track(keyId, nowMs).bannedUntilMs = untilMs;
  }

  /** Deletes a key's refusals and its ban. */
  forget(keyId: KeyId): void {
    this.#offenders.delete(keyId);
  }

  #isBanned({ bannedUntilMs }: Offender, nowMs: number): boolean {
    return nowMs < bannedUntilMs && bannedUntilMs <= nowMs + this.#policy.durationMs;
  }

  #track(keyId: KeyId, nowMs: number): Offender {
    const known = this.#offenders.get(keyId);
    if (known !== undefined) return known;
    if (Math.abs(nowMs - this.#droppedMs) > this.#policy.windowMs) this.#dropIdle(nowMs);
    const offender = { timesMs: [], bannedUntilMs: 0 };
    this.#offenders.set(keyId, offender);
    return offender;
  }

  #dropIdle(nowMs: number): void {
    this.#droppedMs = nowMs;
    for (const [keyId, { timesMs, bannedUntilMs }] of this.#offenders) {
      const isRecent = nowMs - (timesMs.at(-1) ?? 0) <= this.#policy.windowMs;
      if (!isRecent && bannedUntilMs <= nowMs) this.#offenders.delete(keyId);
    }
  }
}

/** Makes the ban that a refusal by this window begins. */
export function newBan(keyId: KeyId, { durationMs, refusals }: BanPolicy, sinceMs: number, { window }: Reading): Ban {
  return { keyId, untilMs: sinceMs + durationMs, durationMs, refusals, window };
}

/** Makes the decision on a banned key's request; `reading` has the numbers of its account. */
export function toBanned(reading: Reading, bannedUntilMs: number, nowMs: number): Banned {
  return { ...reading, allowed: false, bannedUntilMs, retryAfterSeconds: secondsUntil(bannedUntilMs, nowMs) };
}
