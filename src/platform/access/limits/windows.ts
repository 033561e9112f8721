/**
 * Fixed windows, aligned to UTC: how many requests a subject has made in this minute and in this day.
 *
 * A window's index is the time divided by its length, so a subject's whole state is two indices, two counts, and how
 * many requests of the day were refused. A request counts in both windows or, when either is full, in neither. Each
 * call states the quota, so a change of quota takes effect with the next request.
 *
 * All functions are pure but for the counter, and take the time as an argument. A counter follows a clock that jumps,
 * ahead or back: a wrong clock costs a window.
 */
import { type LimitWindow, type Quota, WINDOW_SECONDS } from '../../config/plans.ts';

const MINUTE_MS = 60_000;
const MINUTES_PER_DAY = 1_440; // Unix time has no leap seconds

/** The state of one subject. It is changed in place, so that a request allocates nothing but its decision. */
export interface Counter {
  minuteIndex: number;
  minuteCount: number;
  dayIndex: number;
  dayCount: number;
  /** Requests of the day that were refused, as the limiter counts them. */
  refused: number;
}

/** One window's numbers, as the caller sees them. */
export interface WindowUse {
  readonly window: LimitWindow;
  readonly limit: number;
  readonly used: number;
  /** Requests left in the window, never below zero. */
  readonly remaining: number;
  /** Unix time. */
  readonly resetAtSeconds: number;
}

export function minuteIndexAt(nowMs: number): number {
  return Math.floor(nowMs / MINUTE_MS);
}

export function dayIndexAt(nowMs: number): number {
  return Math.floor(minuteIndexAt(nowMs) / MINUTES_PER_DAY);
}

export function dayStartMs(dayIndex: number): number {
  return dayIndex * MINUTES_PER_DAY * MINUTE_MS;
}

/** Returns a counter at zero. */
export function newCounter(nowMs: number): Counter {
  return { minuteIndex: minuteIndexAt(nowMs), minuteCount: 0, dayIndex: dayIndexAt(nowMs), dayCount: 0, refused: 0 };
}

export function hasRoom(counter: Readonly<Counter>, quota: Quota): boolean {
  return counter.minuteCount < quota.perMinute && counter.dayCount < quota.perDay;
}

/** Whole seconds until a moment in the future, rounded up: at least 1. */
export function secondsUntil(momentMs: number, nowMs: number): number {
  return Math.ceil((momentMs - nowMs) / 1_000);
}

/** Resets the count of another minute than the current one. Each day has counters of its own. */
export function enterMinute(counter: Counter, nowMs: number): void {
  const minuteIndex = minuteIndexAt(nowMs);
  if (minuteIndex === counter.minuteIndex) return;
  counter.minuteIndex = minuteIndex;
  counter.minuteCount = 0;
}

/** Returns the numbers of the windows that the quota limits, the minute first. */
export function readWindows(counter: Readonly<Counter>, { perMinute, perDay }: Quota): [WindowUse, ...WindowUse[]] {
  const minute = windowUse('minute', perMinute, counter.minuteCount, counter.minuteIndex);
  return Number.isFinite(perDay) ? [minute, windowUse('day', perDay, counter.dayCount, counter.dayIndex)] : [minute];
}

function windowUse(window: LimitWindow, limit: number, used: number, index: number): WindowUse {
  const resetAtSeconds = (index + 1) * WINDOW_SECONDS[window];
  return { window, limit, used, remaining: Math.max(0, limit - used), resetAtSeconds };
}
