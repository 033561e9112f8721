/**
 * Bans: a key that keeps sending after refusals is shut out for a while.
 *
 * The minute slides and is exact: a key's last N refusal times stand in a ring, and the Nth refusal bans when the
 * oldest of them is no more than a minute old. A refusal during the ban is not recorded, so it neither prolongs the
 * ban nor counts after it.
 *
 * A ban is in force for its duration before its end, and no longer: one that ends later is of a clock that was ahead.
 * So are refusals of a time that is yet to come.
 *
 * Nothing here waits, throws or asks for the time. Bans live in memory: whoever wants one to survive a restart
 * stores what `refused` returns and gives it back with `restore`. Keys that have nothing to remember are dropped
 * without a timer: each newly tracked key pays for a look at two others, so at most about twice the keys that
 * matter are held.
 */
import type { BanPolicy } from '../model.ts';
import type { Banned } from './limiter.ts';
import { MINUTE_MS, type Reading, secondsUntil } from './windows.ts';

interface Offender {
  /** A ring of the last refusals' times, not longer than `BanPolicy.refusals`. */
  readonly timesMs: number[];
  /** Where in the ring the next refusal goes: once the ring is full, the place of the oldest. */
  next: number;
  lastRefusalMs: number;
  bannedUntilMs: number;
}

/** How many tracked keys a newly tracked one looks at: with two, the sweep is faster than the growth. */
const SWEEP_STEPS = 2;

export class BanTracker {
  readonly #policy: BanPolicy;
  readonly #offenders = new Map<string, Offender>();
  #sweep = this.#offenders.entries();

  constructor(policy: BanPolicy) {
    this.#policy = policy;
  }

  /** How many keys are remembered, for a ban or for refusals. */
  get size(): number {
    return this.#offenders.size;
  }

  /** Records a refusal. Returns the end of the ban when the key is banned, by this refusal or already. */
  refused(keyId: string, nowMs: number): number | undefined {
    const offender = this.#offenders.get(keyId) ?? this.#track(keyId, nowMs);
    if (this.#isInForce(offender, nowMs)) return offender.bannedUntilMs;
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

  /** The end of the ban, if the key is banned at this moment. A ban is over at its very end. */
  bannedUntil(keyId: string, nowMs: number): number | undefined {
    const offender = this.#offenders.get(keyId);
    return offender !== undefined && this.#isInForce(offender, nowMs) ? offender.bannedUntilMs : undefined;
  }

  /** Takes up a ban from elsewhere. One that is over by now does no harm, and of two the later end holds. */
  restore(keyId: string, untilMs: number): void {
    const offender = this.#offenders.get(keyId) ?? this.#track(keyId, Number.NEGATIVE_INFINITY);
    offender.bannedUntilMs = Math.max(offender.bannedUntilMs, untilMs);
  }

  /** Forgets all of a key, unless its ban ends after `untilMs`. */
  forget(keyId: string, untilMs: number): void {
    const offender = this.#offenders.get(keyId);
    if (offender !== undefined && offender.bannedUntilMs <= untilMs) this.#offenders.delete(keyId);
  }

  /** A clock may be a little behind the one that the ban is from. */
  #isInForce({ bannedUntilMs }: Offender, nowMs: number): boolean {
    return nowMs < bannedUntilMs && bannedUntilMs - nowMs <= this.#policy.durationMs + MINUTE_MS;
  }

  #track(keyId: string, nowMs: number): Offender {
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

/** What a banned key's request is told, with the numbers of its account. */
export function banned(reading: Reading, bannedUntilMs: number, nowMs: number): Banned {
  const { window, limit, remaining, resetAtSeconds } = reading;
  const retryAfterSeconds = secondsUntil(bannedUntilMs, nowMs);
  return { allowed: false, bannedUntilMs, window, limit, remaining, resetAtSeconds, retryAfterSeconds };
}
