/** The windows of the limits, by the true clock. */
export const MINUTE_MS = 60_000;
export const DAY_MS = 86_400_000;

export interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

/** The window of a time. */
export function windowAt(momentMs: number, lengthMs: number): Span {
  const startMs = Math.floor(momentMs / lengthMs) * lengthMs;
  return { startMs, endMs: startMs + lengthMs };
}

export function overlap(one: Span, other: Span): boolean {
  return one.startMs <= other.endMs && other.startMs <= one.endMs;
}

export function isWithin(inner: Span, outer: Span): boolean {
  return outer.startMs <= inner.startMs && inner.endMs < outer.endMs;
}
