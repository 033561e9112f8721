/** The bounds that every attack must keep. */
import type { Attack } from './attack.ts';
import { type Served, served } from './bystanders.ts';
import type { Memory, Report } from './experiment.ts';
import { MIB } from './resources.ts';

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
  /** How much the server's memory may grow; by default, up to its limit. */
  readonly maxServerGrowthBytes?: number;
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
  const { memory, recoveredMs, isAborted, ended, bounds, visits, fromMs, toMs, unended } = report;
  const { envoy, server } = memory;
  return [
    isAborted && 'it had to be ended: it took too much memory for this machine',
    !report.hasBegun && !isAborted && !bounds.isTimed && 'it was not sent', // at full size new connections may be slow
    ended !== undefined && !isAborted && `${ended} ended`,
    ...tookTooMuch('Envoy', envoy, bounds.maxGrowthBytes),
    ...tookTooMuch('the server', server, bounds.maxServerGrowthBytes),
    report.leftOpen !== undefined && `still open: ${report.leftOpen}`,
    bounds.mustRecover &&
      recoveredMs === undefined &&
      !isAborted &&
      `Envoy kept ${mib(envoy.afterBytes)}; at rest it had ${mib(envoy.restBytes)}`,
    ...servedBadly('a caller with a key', served(visits, 'caller', fromMs, toMs), bounds),
    ...servedBadly('an anonymous caller', served(visits, 'anonymous', fromMs, toMs), bounds),
    ...(bounds.maxShedShare === 1 ? notCalm(report) : []),
    ...(bounds.isHealthRight ? healthLies(report) : []),
    unended > endsBut && `${unended} requests of the attack have not ended`,
    ...(check?.(report) ?? []),
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
    / 50[34]$|grpc-status 14$/.test(failure) || (mayClose && / closed$/.test(failure));
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
function notCalm({ visits, toMs, bounds }: Report): string[] {
  const { failures, p99Ms, visits: count } = served(visits, 'caller', toMs + CALM_MS);
  const bad = Object.entries(failures).map(([failure, times]) => `${failure} ${times} times`);
  if (count === 0) bad.push('no answer');
  if (bounds.isTimed && p99Ms > MAX_CALM_P99_MS) bad.push(`${Math.round(p99Ms)} ms at p99`);
  return bad.map((what) => `${CALM_MS / 1_000} s after the load a caller met ${what}`);
}

/** The most time between a 503 and the 503 of a health check that belongs to it. */
const HEALTH_LAG_MS = 1_500;

/** Health checks with a 503 at a time when no other request had one. */
function healthLies({ visits, outcomes, fromMs, toMs }: Report): string[] {
  const failed = visits.filter(({ failure }) => failure !== undefined);
  const isShed = (atMs: number) =>
    ((outcomes.counts[503] ?? 0) > 0 && atMs >= fromMs && atMs <= toMs + HEALTH_LAG_MS) ||
    failed.some(({ who, endedAtMs }) => who === 'caller' && Math.abs(endedAtMs - atMs) < HEALTH_LAG_MS);
  return failed
    .filter(({ what, endedAtMs }) => what === '/healthz' && !isShed(endedAtMs))
    .map(({ failure }) => `/healthz was ${failure} while callers were served`);
}

/** The figures of an attack, for the log of its test. */
export function figuresOf({ memory, cpuUs, visits, fromMs, toMs, recoveredMs, outcomes }: Report): string {
  const { p50Ms, p99Ms, visits: count, failures } = served(visits, 'caller', fromMs, toMs);
  const ofProcess = ({ restBytes, peakBytes, afterBytes }: Memory) =>
    [restBytes, peakBytes, afterBytes].map(mib).join();
  return [
    `Envoy at rest, at most, after: ${ofProcess(memory.envoy)}, the server: ${ofProcess(memory.server)}`,
    `${(cpuUs / 1e6).toFixed(1)} s of CPU in ${((toMs - fromMs) / 1_000).toFixed(1)} s`,
    ...(recoveredMs === undefined ? [] : [`memory back after ${(recoveredMs / 1_000).toFixed(1)} s`]),
    `a caller with a key: p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed()} ms`,
    `${count} calls, ${JSON.stringify(failures)}`,
    JSON.stringify(outcomes),
  ].join('; ');
}

export function mib(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}
