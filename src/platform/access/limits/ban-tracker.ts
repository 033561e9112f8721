/**
 * Bans: a key that keeps sending after refusals is banned for a while.
 *
 * The minute slides and is exact: the Nth refusal bans the key when the oldest of its last N refusals is no more than a
 * minute old. A request during the ban is no refusal: it neither prolongs the ban nor counts after it. After the first
 * refusal of a minute, which is that of the limits, the others do not count for `graceMs`: they were on their way.
 *
 * A ban that ends later than a new one would was set by a wrong clock, and does not hold.
 *
 * The caller stores bans that begin, to `restore` them after a restart. Idle keys are dropped once in a window.
 */
import type { KeyId } from '../../rpc/caller.ts';
import { minuteIndexAt } from './windows.ts';

/** When a key is banned, and for how long: `refusals` within `windowMs` ban it for `durationMs`. */
export interface BanPolicy {
  readonly refusals: number;
  readonly windowMs: number;
  readonly graceMs: number;
  /** From the last of the refusals. */
  readonly durationMs: number;
}

interface Offender {
  /** The times of the last refusals, `BanPolicy.refusals` of them at most. */
  readonly timesMs: number[];
  /** The first refusal of its minute. */
  firstMs: number;
  bannedUntilMs: number;
}

export function createBanTracker({ refusals, windowMs, graceMs, durationMs }: BanPolicy) {
  const offenders = new Map<KeyId, Offender>();
  let droppedMs = Number.NEGATIVE_INFINITY;

  function track(keyId: KeyId, nowMs: number): Offender {
    const known = offenders.get(keyId);
    if (known !== undefined) return known;
    if (Math.abs(nowMs - droppedMs) > windowMs) dropIdle(nowMs);
    const offender = { timesMs: [], firstMs: Number.NEGATIVE_INFINITY, bannedUntilMs: 0 };
    offenders.set(keyId, offender);
    return offender;
  }

  function dropIdle(nowMs: number): void {
    droppedMs = nowMs;
    for (const [keyId, { timesMs, bannedUntilMs }] of offenders) {
      const isRecent = nowMs - (timesMs.at(-1) ?? 0) <= windowMs;
      if (!isRecent && bannedUntilMs <= nowMs) offenders.delete(keyId);
    }
  }

  /** Returns the end of the key's last ban, whether it holds or not; 0 if none is known. */
  const lastEnd = (keyId: KeyId) => offenders.get(keyId)?.bannedUntilMs ?? 0;

  return {
    lastEnd,
    size: () => offenders.size,
    /** Records a refusal of a key that is not banned. Returns the end of the ban that it begins, or 0. */
    recordRefusal(keyId: KeyId, nowMs: number): number {
      const offender = track(keyId, nowMs);
      const { timesMs, firstMs } = offender;
      if (minuteIndexAt(firstMs) !== minuteIndexAt(nowMs)) offender.firstMs = nowMs;
      else if (nowMs < firstMs + graceMs) return 0;
      timesMs.push(nowMs);
      const oldestMs = timesMs.length < refusals ? undefined : timesMs.shift();
      if (oldestMs === undefined || Math.abs(nowMs - oldestMs) > windowMs) return 0;
      offender.bannedUntilMs = nowMs + durationMs;
      timesMs.length = 0;
      return offender.bannedUntilMs;
    },
    /** Returns the end of the ban if the key is banned now, else 0. The end itself is not part of the ban. */
    bannedUntil(keyId: KeyId, nowMs: number): number {
      const endMs = lastEnd(keyId);
      return nowMs < endMs && endMs <= nowMs + durationMs ? endMs : 0;
    },
    restore(keyId: KeyId, untilMs: number, nowMs: number): void {
      track(keyId, nowMs).bannedUntilMs = untilMs;
    },
    forget: (keyId: KeyId) => offenders.delete(keyId),
  };
}
