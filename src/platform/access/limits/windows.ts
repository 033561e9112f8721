/**
 * Fixed windows, aligned to UTC: how many requests a subject has made in this minute and in this day.
 *
 * A window's index is the time divided by its length, so a subject's whole state is an index and a count for each of
 * `WINDOWS`, and how many requests of the day were refused. A request counts in all windows or, when one is full, in
 * none. Each call states the quota, so a change of quota takes effect with the next request.
 *
 * A counter follows a clock that jumps, ahead or back: a wrong clock costs a window.
 */
import { type LimitWindow, type Quota, WINDOWS } from '../../config/plans.ts';
import type { DayUsage } from '../tables/usage.ts';

/** Their lengths. Unix time has no leap seconds. */
export const LENGTHS_MS = WINDOWS.map(({ seconds }) => seconds * 1_000);
const [MINUTE_MS = 0, DAY_MS = 0] = [LENGTHS_MS[0], LENGTHS_MS.at(-1)];
const DAY = WINDOWS.length - 1;

/** The state of one subject, by the windows. It is changed in place, so that a request allocates only its decision. */
export interface Counter {
  readonly indices: number[];
  readonly counts: number[];
  /** Requests of the day that were refused, as the limiter counts them. */
  refused: number;
}

/** One window's numbers, as the caller sees them. */
export interface WindowUse {
  readonly window: LimitWindow;
  readonly seconds: number;
  readonly limit: number;
  readonly used: number;
  /** Requests left in the window, never below zero. */
  readonly remaining: number;
  /** Unix time. */
  readonly resetAtSeconds: number;
}

export const minuteIndexAt = (nowMs: number) => Math.floor(nowMs / MINUTE_MS);
export const dayIndexAt = (nowMs: number) => Math.floor(nowMs / DAY_MS);
export const dayStartMs = (dayIndex: number) => dayIndex * DAY_MS;

export function newCounter(nowMs: number): Counter {
  return { indices: LENGTHS_MS.map((ms) => Math.floor(nowMs / ms)), counts: LENGTHS_MS.map(() => 0), refused: 0 };
}

export function copyOf({ indices, counts, refused }: Readonly<Counter>): Counter {
  return { indices: [...indices], counts: [...counts], refused };
}

export function hasRoom({ counts }: Readonly<Counter>, quota: Quota): boolean {
  return WINDOWS.every((window, at) => (counts[at] ?? 0) < quota[window.quota]);
}

export function add({ counts }: Counter): void {
  for (let at = 0; at < counts.length; at += 1) counts[at] = (counts[at] ?? 0) + 1;
}

/** Whole seconds until a moment in the future, rounded up: at least 1. */
export const secondsUntil = (momentMs: number, nowMs: number) => Math.ceil((momentMs - nowMs) / 1_000);

/** Resets the counts of other windows than those of now. */
export function enterWindows({ indices, counts }: Counter, nowMs: number): void {
  for (let at = 0; at < indices.length; at += 1) {
    const index = Math.floor(nowMs / (LENGTHS_MS[at] ?? 0));
    if (index === indices[at]) continue;
    indices[at] = index;
    counts[at] = 0;
  }
}

/** What is stored of a counter: its day. */
export function readDay({ indices, counts, refused }: Readonly<Counter>) {
  return { dayIndex: indices[DAY] ?? 0, requests: counts[DAY] ?? 0, refused };
}

export function restoreDay(counter: Counter, { requests, refused }: Pick<DayUsage, 'requests' | 'refused'>): void {
  counter.counts[DAY] = requests;
  counter.refused = refused;
}

/** Returns the numbers of the windows that the quota limits, the minute first. */
export function readWindows({ indices, counts }: Readonly<Counter>, quota: Quota): readonly WindowUse[] {
  const uses: WindowUse[] = [];
  for (const [at, { name, seconds, quota: of }] of WINDOWS.entries()) {
    const [limit, used, index] = [quota[of], counts[at] ?? 0, indices[at] ?? 0];
    if (!Number.isFinite(limit)) continue;
    const resetAtSeconds = (index + 1) * seconds;
    uses.push({ window: name, seconds, limit, used, remaining: Math.max(0, limit - used), resetAtSeconds });
  }
  return uses;
}
