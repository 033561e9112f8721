/**
 * Bans: a key that keeps sending after refusals is banned for a while.
 *
 * The minute slides and is exact: a ring buffer holds the times of a key's last N refusals, and the Nth refusal bans
 * the key when the oldest of them is no more than a minute old. A refusal during the ban is not recorded: it neither
 * prolongs the ban nor counts after it.
 *
 * A ban that ends later than a ban which begins now was set by a clock that was ahead: it is ignored. So are refusals
 * with a time in the future.
 *
 * All methods are synchronous and take the time as an argument. Bans live in memory: to keep them over a restart, store
 * what `recordRefusal` returns and pass it to `restore`. Idle keys are dropped without a timer: each newly tracked key
 * checks two others, so at most about twice the active keys are held.
 */
import type { BanPolicy, KeyId } from '../model.ts';
import type { Banned } from './limiter.ts';
import { MINUTE_MS, type Reading, secondsUntil } from './windows.ts';

interface Offender {
  /** A ring buffer of the last refusals' times, of `BanPolicy.refusals` entries at most. */
  readonly timesMs: number[];
  /** The index of the next refusal; once the ring is full, this is the oldest entry. */
  next: number;
  lastRefusalMs: number;
  bannedUntilMs: number;
}

/** How many tracked keys a newly tracked one checks: with two, the sweep is faster than the growth. */
const SWEEP_STEPS = 2;

export class BanTracker {
  readonly #policy: BanPolicy;
  readonly #offenders = new Map<KeyId, Offender>();
  #sweep = this.#offenders.entries();

  constructor(policy: BanPolicy) {
    this.#policy = policy;
  }

  /** How many keys are tracked, banned or not. */
  get size(): number {
    return this.#offenders.size;
  }

  /** Records a refusal. Returns the end of the ban when the key is banned, by this refusal or already. */
  recordRefusal(keyId: KeyId, nowMs: number): number | undefined {
    const offender = this.#offenders.get(keyId) ?? this.#track(keyId, nowMs);
    if (this.#isBanned(offender, nowMs)) return offender.bannedUntilMs;
    const { refusals, windowMs, durationMs } = this.#policy;
    offender.timesMs[offender.next] = nowMs;
    offender.next = (offender.next + 1) % refusals;
    offender.lastRefusalMs = nowMs;
    const oldestMs = offender.timesMs[offender.next];
    if (oldestMs === undefined || Math.abs(nowMs - oldestMs) > windowMs) return undefined;
    offender.bannedUntilMs = nowMs + durationMs;
    offender.timesMs.length = 0;
    offender.next = 0;
    return offender.bannedUntilMs;
  }

  /** Returns the end of the ban if the key is banned now. The end itself is not part of the ban. */
  bannedUntil(keyId: KeyId, nowMs: number): number | undefined {
    const offender = this.#offenders.get(keyId);
    return offender !== undefined && this.#isBanned(offender, nowMs) ? offender.bannedUntilMs : undefined;
  }

  /** Restores a ban that was stored. Of two bans of a key the later end holds. */
  restore(keyId: KeyId, untilMs: number): void {
    const offender = this.#offenders.get(keyId) ?? this.#track(keyId, Number.NEGATIVE_INFINITY);
    offender.bannedUntilMs = Math.max(offender.bannedUntilMs, untilMs);
  }

  /** Deletes a key's refusals and its ban, unless the ban ends after `untilMs`. */
  forget(keyId: KeyId, untilMs: number): void {
    const offender = this.#offenders.get(keyId);
    if (offender !== undefined && offender.bannedUntilMs <= untilMs) this.#offenders.delete(keyId);
  }

  /** The clock that set the ban may have been up to a minute ahead of this one. */
  #isBanned({ bannedUntilMs }: Offender, nowMs: number): boolean {
    return nowMs < bannedUntilMs && bannedUntilMs - nowMs <= this.#policy.durationMs + MINUTE_MS;
  }

  #track(keyId: KeyId, nowMs: number): Offender {
    for (let step = 0; step < SWEEP_STEPS; step += 1) this.#dropNextIfIdle(nowMs);
    const offender = {
      timesMs: [],
      next: 0,
      lastRefusalMs: Number.NEGATIVE_INFINITY,
      bannedUntilMs: Number.NEGATIVE_INFINITY,
    };
    this.#offenders.set(keyId, offender);
    return offender;
  }

  #dropNextIfIdle(nowMs: number): void {
    const { value, done } = this.#sweep.next();
    if (done) {
      this.#sweep = this.#offenders.entries();
      return;
    }
    const [keyId, { lastRefusalMs, bannedUntilMs }] = value;
    const isIdle = bannedUntilMs <= nowMs && nowMs - lastRefusalMs > this.#policy.windowMs;
    if (isIdle) this.#offenders.delete(keyId);
  }
}

/** Makes the decision on a banned key's request; `reading` has the numbers of its account. */
export function toBanned(reading: Reading, bannedUntilMs: number, nowMs: number): Banned {
  const { window, limit, remaining, resetAtSeconds } = reading;
  const retryAfterSeconds = secondsUntil(bannedUntilMs, nowMs);
  return { allowed: false, bannedUntilMs, window, limit, remaining, resetAtSeconds, retryAfterSeconds };
}
