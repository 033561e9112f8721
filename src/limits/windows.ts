/**
 * Fixed windows, aligned to UTC: how many requests a subject has made in this minute and in this day.
 *
 * A window's index is the time divided by its length, so a subject's whole state is two indices and two counts. A
 * request counts in both windows or, when either is full, in neither. Quotas are not kept here: each take states
 * its own, so a change of quota holds from the next request on.
 *
 * Nothing here waits, throws or asks for the time. A clock that goes back by up to a minute grants nothing: the minute
 * before the one a counter is in is taken for that one. A clock that goes back by more was wrong before, and is followed:
 * that costs one window, and not a standstill for as long as it was ahead.
 */
import type { Quota } from '../model.ts';

export const MINUTE_MS = 60_000;
const MINUTES_PER_DAY = 1_440; // Unix time has no leap seconds
const MINUTE_SECONDS = 60;
const DAY_SECONDS = 86_400;

/** The state of one subject. `take` changes it in place, so that the hot path allocates nothing but its verdict. */
export interface Counter {
  minuteIndex: number;
  minuteCount: number;
  dayIndex: number;
  dayCount: number;
}

/** One window's numbers: the ones to show to the caller. */
export interface Reading {
  readonly window: 'minute' | 'day';
  readonly limit: number;
  /** Requests left in the window, never below zero. */
  readonly remaining: number;
  /** Unix time. */
  readonly resetAtSeconds: number;
}

interface Admitted extends Reading {
  readonly allowed: true;
}

interface Refused extends Reading {
  readonly allowed: false;
  /** Whole seconds until the window resets, rounded up: at least 1. */
  readonly retryAfterSeconds: number;
}

/**
 * What became of a request, with the numbers of the most binding window: the one with the fewest requests left and,
 * on a tie, the one that resets later, which is the day. A full window has none left, so for a refusal that is the
 * window that refused and, when both did, the day.
 */
export type Verdict = Admitted | Refused;

export function minuteIndexAt(nowMs: number): number {
  return Math.floor(nowMs / MINUTE_MS);
}

export function dayIndexAt(nowMs: number): number {
  return Math.floor(minuteIndexAt(nowMs) / MINUTES_PER_DAY);
}

/** The time to go on with after `latestMs`: it stands still when a clock goes back by up to a minute. */
export function ignoreBackwardStep(latestMs: number, nowMs: number): number {
  return nowMs < latestMs && latestMs - nowMs <= MINUTE_MS ? latestMs : nowMs;
}

export function dayStartMs(dayIndex: number): number {
  return dayIndex * DAY_SECONDS * 1_000;
}

/** A counter for a subject not seen before. */
export function newCounter(nowMs: number): Counter {
  return { minuteIndex: minuteIndexAt(nowMs), minuteCount: 0, dayIndex: dayIndexAt(nowMs), dayCount: 0 };
}

/** Counts a request if both windows have room for it. `remaining` is what is left after it. */
export function countRequest(counter: Counter, quota: Quota, nowMs: number): Verdict {
  roll(counter, nowMs);
  const allowed = hasRoom(counter, quota);
  if (allowed) {
    counter.minuteCount += 1;
    counter.dayCount += 1;
  }
  return verdict(allowed, counter, quota, nowMs);
}

/** The verdict that a request would meet now, with the numbers as they stand. Counts nothing. */
export function peek(counter: Counter, quota: Quota, nowMs: number): Verdict {
  roll(counter, nowMs);
  return verdict(hasRoom(counter, quota), counter, quota, nowMs);
}

/** Whole seconds to wait, rounded up: at least 1, for a moment that is yet to come. */
export function secondsUntil(momentMs: number, nowMs: number): number {
  return Math.ceil((momentMs - nowMs) / 1_000);
}

/** The counts as they are in the windows of this moment. The counter itself stays as it is. */
export function counterAt(counter: Readonly<Counter>, nowMs: number): Counter {
  const moved = { ...counter };
  roll(moved, nowMs);
  return moved;
}

/** When the counter's minute ends, and its day, in Unix time. */
export function minuteEndSeconds({ minuteIndex }: Readonly<Counter>): number {
  return (minuteIndex + 1) * MINUTE_SECONDS;
}

export function dayEndSeconds({ dayIndex }: Readonly<Counter>): number {
  return (dayIndex + 1) * DAY_SECONDS;
}

/** Moves the counter to the windows of this moment. */
function roll(counter: Counter, nowMs: number): void {
  const minuteIndex = minuteIndexAt(nowMs);
  if (minuteIndex === counter.minuteIndex || minuteIndex === counter.minuteIndex - 1) return;
  counter.minuteIndex = minuteIndex;
  counter.minuteCount = 0;
  const dayIndex = dayIndexAt(nowMs);
  if (dayIndex === counter.dayIndex) return;
  counter.dayIndex = dayIndex;
  counter.dayCount = 0;
}

function hasRoom(counter: Counter, quota: Quota): boolean {
  return counter.minuteCount < quota.perMinute && counter.dayCount < quota.perDay;
}

/** The verdict on a request, given the counts as they stand after it. */
export function verdict(allowed: boolean, counter: Counter, quota: Quota, nowMs: number): Verdict {
  const minuteRemaining = Math.max(0, quota.perMinute - counter.minuteCount);
  const dayRemaining = Math.max(0, quota.perDay - counter.dayCount);
  const isDay = dayRemaining <= minuteRemaining;
  const window = isDay ? 'day' : 'minute';
  const limit = isDay ? quota.perDay : quota.perMinute;
  const remaining = isDay ? dayRemaining : minuteRemaining;
  const resetAtSeconds = isDay ? dayEndSeconds(counter) : minuteEndSeconds(counter);
  if (allowed) return { allowed, window, limit, remaining, resetAtSeconds };
  const retryAfterSeconds = secondsUntil(resetAtSeconds * 1_000, nowMs);
  return { allowed, window, limit, remaining, resetAtSeconds, retryAfterSeconds };
}
