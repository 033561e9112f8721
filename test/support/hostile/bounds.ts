/** What no attack may do, and whether one did. */
import { type Served, served, type Visit } from './bystanders.ts';
import type { Report } from './experiment.ts';
import { MIB } from './resources.ts';

/** The promise is 2 s at p99; nobody is to wait longer because of an attack. */
export const MAX_P99_MS = 2_000;
const MAX_ENVOY_BYTES = 512 * MIB;

/** How long after a load has gone all has to be as before. */
export const CALM_MS = 5_000;
const MAX_CALM_P99_MS = 1_000;

export interface Bounds {
  /** How much Envoy may grow. Small attacks have small bounds; without one it is the whole of what it may have. */
  readonly maxGrowthBytes?: number;
  /** Whether memory has to be back within the time that was given. */
  readonly mustRecover?: boolean;
  /** What share of the visits may be asked to come again; unless told, none. */
  readonly maxShedShare?: number;
  /** Whether the times count: where nothing else has the machine. No answer within 10 s is a failure in any case. */
  readonly isTimed?: boolean;
}

/** What the tests allow: on a machine that is busy with other things a call in twenty may be asked to come again. */
export const ON_A_BUSY_MACHINE: Bounds = { maxShedShare: 0.05 };

/** All that was not as it must be, each with its numbers; empty when all is well. */
export function breaches(report: Report, bounds: Bounds = {}): string[] {
  const { memory, recoveredMs, isAborted, caller, stranger } = report;
  const growth = memory.peakBytes - memory.restBytes;
  return [
    isAborted && 'it had to be ended: Envoy took too much memory for this machine',
    memory.peakBytes > MAX_ENVOY_BYTES && `Envoy took ${mib(memory.peakBytes)}, more than ${mib(MAX_ENVOY_BYTES)}`,
    bounds.maxGrowthBytes !== undefined &&
      growth > bounds.maxGrowthBytes &&
      `Envoy grew by ${mib(growth)}, more than ${mib(bounds.maxGrowthBytes)}`,
    bounds.mustRecover &&
      recoveredMs === undefined &&
      !isAborted &&
      `Envoy kept ${mib(memory.afterBytes)}; at rest it had ${mib(memory.restBytes)}`,
    ...servedBadly('a caller with a key', caller, bounds),
    ...servedBadly('a stranger', stranger, bounds),
    ...(bounds.maxShedShare === 1 ? notCalm(report, bounds) : []),
  ].filter((breach) => typeof breach === 'string');
}

function servedBadly(
  who: string,
  { visits, p99Ms, failures }: Served,
  { maxShedShare = 0, isTimed }: Bounds,
): string[] {
  const isShed = ([failure]: readonly [string, number]) => / 50[34]$|grpc-status 14$/.test(failure);
  const shed = Object.entries(failures).filter(isShed);
  const isTooMuch = shed.reduce((sum, [, count]) => sum + count, 0) > maxShedShare * visits;
  const bad = Object.entries(failures).filter((failure) => isTooMuch || !isShed(failure));
  return [
    ...(visits === 0 ? [`${who} was never answered`] : []),
    ...bad.map(([failure, count]) => `${who} met ${failure} ${count} times in ${visits}`),
    ...(isTimed && visits > 0 && p99Ms > MAX_P99_MS ? [`${who} waited ${Math.round(p99Ms)} ms at p99`] : []),
  ];
}

/** What is still wrong when the load has been gone for long enough. */
function notCalm({ visits, toMs }: Report, { isTimed }: Bounds): string[] {
  const { failures, p99Ms, visits: count } = served(visits, 'caller', toMs + CALM_MS);
  const bad = Object.entries(failures).map(([failure, times]) => `${failure} ${times} times`);
  if (count === 0) bad.push('no answer');
  if (isTimed && p99Ms > MAX_CALM_P99_MS) bad.push(`${Math.round(p99Ms)} ms at p99`);
  return bad.map((what) => `${CALM_MS / 1_000} s after the load a caller met ${what}`);
}

/** How far apart a 503 and what health says of it may be. */
const HEALTH_LAG_MS = 1_500;

/** Times at which health said 503 though nobody else met one. */
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
