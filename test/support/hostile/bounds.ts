/** The bounds that every attack must keep. */
import { type Served, served, type Visit } from './bystanders.ts';
import type { Memory, Report } from './experiment.ts';
import { MIB } from './resources.ts';

/** The promise is 2 s at p99, also when there are more callers than can be served. */
export const MAX_P99_MS = 2_000;
const MAX_BYTES = 512 * MIB;

/** The recovery time after a load. */
export const CALM_MS = 5_000;
const MAX_CALM_P99_MS = 1_000;

export interface Bounds {
  /** How much Envoy's memory may grow; by default, up to its limit. */
  readonly maxGrowthBytes?: number;
  /** How much the server's memory may grow; by default, up to its limit. */
  readonly maxServerGrowthBytes?: number;
  /** Whether Envoy must give the memory back in time. */
  readonly mustRecover?: boolean;
  /** The share of requests that may be shed; 0 by default. */
  readonly maxShedShare?: number;
  /** Whether a connection that is closed counts as shed too: all that frees Envoy of unread responses. */
  readonly mayClose?: boolean;
  /** Whether latencies count, on a machine that runs nothing else. No response within 10 s is a failure in any case. */
  readonly isTimed?: boolean;
  /** The latency at p99 of the caller with a key. */
  readonly maxP99Ms?: number;
}

/** The bounds of the tests: on a busy machine one call in twenty may be shed. */
export const ON_A_BUSY_MACHINE: Bounds = { maxShedShare: 0.05 };

/** The bounds that were exceeded, with their figures. */
export function breaches(report: Report, bounds: Bounds = {}): string[] {
  const { memory, recoveredMs, isAborted, caller, anonymous, ended } = report;
  const { envoy, server } = memory;
  return [
    isAborted && 'it had to be ended: it took too much memory for this machine',
    ended !== undefined && !isAborted && `${ended} ended`,
    ...tookTooMuch('Envoy', envoy, bounds.maxGrowthBytes),
    ...tookTooMuch('the server', server, bounds.maxServerGrowthBytes),
    report.leftOpen !== undefined && `still open: ${report.leftOpen}`,
    bounds.mustRecover &&
      recoveredMs === undefined &&
      !isAborted &&
      `Envoy kept ${mib(envoy.afterBytes)}; at rest it had ${mib(envoy.restBytes)}`,
    ...servedBadly('a caller with a key', caller, bounds),
    ...servedBadly('an anonymous caller', anonymous, bounds),
    ...(bounds.maxShedShare === 1 ? notCalm(report, bounds) : []),
  ].filter((breach) => typeof breach === 'string');
}

function tookTooMuch(who: string, { restBytes, peakBytes }: Memory, maxGrowthBytes = MAX_BYTES): string[] {
  const growth = peakBytes - restBytes;
  if (growth > maxGrowthBytes) return [`${who} grew by ${mib(growth)}, more than ${mib(maxGrowthBytes)}`];
  return peakBytes > MAX_BYTES ? [`${who} took ${mib(peakBytes)}, more than ${mib(MAX_BYTES)}`] : [];
}

function servedBadly(
  who: string,
  { visits, p99Ms, failures }: Served,
  { maxShedShare = 0, mayClose = false, isTimed, maxP99Ms = MAX_P99_MS }: Bounds,
): string[] {
  const isShed = ([failure]: readonly [string, number]) =>
    / 50[34]$|grpc-status 14$/.test(failure) || (mayClose && / (ECONNRESET|reset)$/.test(failure));
  const shed = Object.entries(failures).filter(isShed);
  const isTooMuch = shed.reduce((sum, [, count]) => sum + count, 0) > maxShedShare * visits;
  const bad = Object.entries(failures).filter((failure) => isTooMuch || !isShed(failure));
  return [
    ...(visits === 0 ? [`${who} was never answered`] : []),
    ...bad.map(([failure, count]) => `${who} met ${failure} ${count} times in ${visits}`),
    ...(isTimed && visits > 0 && p99Ms > maxP99Ms ? [`${who} waited ${Math.round(p99Ms)} ms at p99`] : []),
  ];
}

/** The failures after the recovery time. */
function notCalm({ visits, toMs }: Report, { isTimed }: Bounds): string[] {
  const { failures, p99Ms, visits: count } = served(visits, 'caller', toMs + CALM_MS);
  const bad = Object.entries(failures).map(([failure, times]) => `${failure} ${times} times`);
  if (count === 0) bad.push('no answer');
  if (isTimed && p99Ms > MAX_CALM_P99_MS) bad.push(`${Math.round(p99Ms)} ms at p99`);
  return bad.map((what) => `${CALM_MS / 1_000} s after the load a caller met ${what}`);
}

/** The most time between a 503 and the 503 of a health check that belongs to it. */
const HEALTH_LAG_MS = 1_500;

/** Health checks with a 503 at a time when no other request had one. */
export function healthLies({ visits, outcomes, fromMs, toMs }: Report): string[] {
  const shed = visits.filter(({ failure, who }) => who === 'caller' && failure !== undefined);
  const isOfAttack = ({ endedAtMs }: Visit) =>
    (outcomes.counts[503] ?? 0) > 0 && endedAtMs >= fromMs && endedAtMs <= toMs + HEALTH_LAG_MS;
  return visits
    .filter(({ what, failure }) => what === '/healthz' && failure !== undefined)
    .filter((visit) => !isOfAttack(visit))
    .filter(({ endedAtMs }) => !shed.some((other) => Math.abs(other.endedAtMs - endedAtMs) < HEALTH_LAG_MS))
    .map(({ failure }) => `/healthz was ${failure} while callers were served`);
}

export function mib(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}
