/** The bounds that every attack must keep. */
import type { Attack } from './attacks.ts';
import { served } from './bystanders.ts';
import type { Report } from './experiment.ts';
import { type MemoryWatch, MIB, mib } from './memory.ts';

/** The promise is 2 s at p99, also when there are more callers than can be served. */
const MAX_P99_MS = 2_000;
const MAX_BYTES = 512 * MIB;

/** The recovery time after a load. */
export const CALM_MS = 5_000;
const MAX_CALM_P99_MS = 1_000;

/** The share of calls that may be shed where other programs run too. */
export const ON_A_BUSY_MACHINE = 0.05;

export interface Bounds {
  /** How much Envoy's memory may grow; by default, up to its limit. */
  readonly maxGrowthBytes?: number;
  /** Whether Envoy must give the memory back in time. */
  readonly mustRecover?: boolean;
  /** The share of requests that may be shed; 0 by default. */
  readonly maxShedShare?: number;
  /** Whether a connection that is closed counts as shed too: all that frees Envoy of unread responses. */
  readonly mayClose?: boolean;
  /** Whether health checks fail only while others are shed. */
  readonly isHealthRight?: boolean;
  /** Whether latencies count, on a machine that runs nothing else. No response within 10 s is a failure in any case. */
  readonly isTimed?: boolean;
  /** The latency at p99 of the caller with a key. */
  readonly maxP99Ms?: number;
}

/** The bounds that were exceeded, with their figures. */
export function breaches({ endsBut = Number.POSITIVE_INFINITY, check }: Attack, report: Report): string[] {
  const { memory, ended, bounds, visits, fromMs, toMs, unended } = report;
  return [
    !report.hasBegun && !bounds.isTimed && 'it was not sent', // at full size new connections may be slow
    ended !== undefined && `${ended} ended`,
    tookTooMuch('Envoy', memory.envoy, bounds.maxGrowthBytes),
    tookTooMuch('the server', memory.server),
    report.leftOpen !== undefined && `still open: ${report.leftOpen}`,
    bounds.mustRecover && !report.hasRecovered && 'Envoy kept the memory',
    ...servedBadly('a caller with a key', served(visits, 'caller', fromMs, toMs), bounds),
    ...servedBadly('an anonymous caller', served(visits, 'anonymous', fromMs, toMs), bounds),
    ...(bounds.maxShedShare === 1 ? notCalm(report) : []),
    ...(bounds.isHealthRight ? healthLies(report) : []),
    unended > endsBut && `${unended} requests of the attack have not ended`,
    ...(check?.(report) ?? []),
  ].filter((breach) => typeof breach === 'string');
}

function tookTooMuch(
  who: string,
  { restBytes, peakBytes }: MemoryWatch,
  maxGrowthBytes = MAX_BYTES,
): string | undefined {
  const isTooMuch = peakBytes - restBytes > maxGrowthBytes || peakBytes > MAX_BYTES;
  return isTooMuch ? `${who} had ${mib(restBytes)} at rest and took ${mib(peakBytes)}` : undefined;
}

function servedBadly(
  who: string,
  { visits, p99Ms, failures }: ReturnType<typeof served>,
  { maxShedShare = 0, mayClose = false, isTimed, maxP99Ms = MAX_P99_MS }: Bounds,
): string[] {
  const isShed = ([failure]: readonly [string, number]) =>
    / 50[34]$|grpc-status 14$/.test(failure) || (mayClose && / closed$/.test(failure));
  const shed = Object.entries(failures).filter(isShed);
  const isTooMuch = shed.reduce((sum, [, count]) => sum + count, 0) > maxShedShare * visits;
  const bad = Object.entries(failures).filter((failure) => isTooMuch || !isShed(failure));
  return [
    ...(visits === 0 ? [`${who} was never answered`] : []),
    ...bad.map(([failure, count]) => `${who} met ${failure} ${count} times in ${visits}`),
    ...(isTimed && p99Ms > maxP99Ms ? [`${who} waited ${Math.round(p99Ms)} ms at p99`] : []),
  ];
}

/** The failures after the recovery time. */
function notCalm({ visits, toMs, bounds }: Report): string[] {
  const calm = served(visits, 'caller', toMs + CALM_MS);
  return servedBadly('after the load a caller', calm, { isTimed: bounds.isTimed ?? false, maxP99Ms: MAX_CALM_P99_MS });
}

/** The most time between a 503 and the 503 of a health check that belongs to it. */
const HEALTH_LAG_MS = 1_500;

/** Health checks with a 503 at a time when no other request had one. */
function healthLies({ visits, outcomes, fromMs, toMs }: Report): string[] {
  const failed = visits.filter(({ failure }) => failure !== undefined);
  const isShed = (atMs: number) =>
    ((outcomes[503] ?? 0) > 0 && atMs >= fromMs && atMs <= toMs + HEALTH_LAG_MS) ||
    failed.some(({ who, endedAtMs }) => who === 'caller' && Math.abs(endedAtMs - atMs) < HEALTH_LAG_MS);
  return failed
    .filter(({ what, endedAtMs }) => what === '/healthz' && !isShed(endedAtMs))
    .map(({ failure }) => `/healthz was ${failure} while callers were served`);
}

/** The figures of an attack, for the log of its test. */
export function figuresOf({ memory, visits, fromMs, toMs, outcomes }: Report): string {
  const { visits: calls, p99Ms, failures } = served(visits, 'caller', fromMs, toMs);
  const [envoy, server] = [memory.envoy, memory.server].map((one) => [one.restBytes, one.peakBytes].map(mib));
  return JSON.stringify({ envoy, server, calls, p99Ms: Math.round(p99Ms), failures, outcomes });
}
