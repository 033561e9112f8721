/**
 * Measures one attack on one service: memory, CPU time, how the bystanders were served, and what is open afterwards.
 * Judges it by the bounds that every attack must keep.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { targetOf } from '../../support/calls/http2.ts';
import { cpuTimesUs } from '../../support/machine/cpu-time.ts';
import { median } from '../../support/numbers.ts';
import type { TestStack } from '../../support/service/stack.ts';
import { until } from '../../support/until.ts';
import { type Attack, startAttacker, total } from './attacks.ts';
import { served, startBystanders } from './bystanders.ts';
import { isFull, leftOpen, type MemoryWatch, MIB, mib, pidsOf, watchMemory } from './service.ts';

/** Memory is back when it is at most so many times what it was before. */
const SETTLED = 1.5;
const WARM_UP_MS = 1_000;
/** Many attacks slow down new connections. */
const BEGIN_MS = 40_000;
const RECOVERY_MS = 60_000;
const SHORT_HOLD_MS = 4_000;

function boundsOf({ bounds, shortBounds }: Attack): Bounds {
  if (isFull) return { isTimed: true, ...bounds };
  const maxShedShare = Math.max(ON_A_BUSY_MACHINE, bounds?.maxShedShare ?? 0);
  return { ...bounds, ...shortBounds, maxShedShare };
}

export type Report = Awaited<ReturnType<typeof measureAttack>>;

export async function measureAttack(stack: TestStack, attack: Attack, from: string) {
  const bounds = boundsOf(attack);
  const { full, short = full, endsBut } = attack;
  const size = isFull ? full : short;
  const pids = pidsOf(stack);
  const cpuUs = () => cpuTimesUs({ pids: [pids.envoy, pids.server] });
  const bystanders = startBystanders(stack);
  await delay(WARM_UP_MS);
  const memory = { envoy: watchMemory(pids.envoy), server: watchMemory(pids.server) };
  const [cpuBeforeUs, fromMs] = [cpuUs(), performance.now()];
  const job = { promise: attack.promise, target: targetOf(stack.publicAddress, from), size, key: stack.key };
  const attacker = startAttacker(job);
  try {
    await until(() => attacker.told.hasBegun, 'the beginning', BEGIN_MS).catch(() => undefined);
    const unended = () => size.connections * size.perConnection - total(attacker.told.outcomes);
    const isOver = () => endsBut !== undefined && unended() <= endsBut;
    const holdMs = isFull || endsBut !== undefined ? attack.holdMs : SHORT_HOLD_MS;
    await until(isOver, 'the end', holdMs).catch(() => undefined);
    const usedUs = cpuUs() - cpuBeforeUs;
    const { outcomes } = attacker.told;
    await attacker.end();
    const toMs = performance.now();
    const isSettled = () => memory.envoy.now() <= SETTLED * memory.envoy.restBytes;
    if (bounds.mustRecover) await until(isSettled, 'the memory', RECOVERY_MS).catch(() => undefined);
    const untilMs = bounds.maxShedShare === 1 ? toMs + CALM_MS + 1_000 : toMs;
    await delay(Math.max(0, untilMs - performance.now()));
    await bystanders.stop();
    const left = await leftOpen(stack);
    const now = pidsOf(stack);
    return {
      outcomes,
      bounds,
      memory,
      hasRecovered: isSettled(),
      cpuUs: usedUs,
      visits: bystanders.visits,
      fromMs,
      toMs,
      hasBegun: attacker.told.hasBegun,
      unended: unended(),
      /** What is still open some seconds after all callers have left, in words. */
      leftOpen: left,
      ended: now.server !== pids.server ? 'the server' : now.envoy !== pids.envoy ? 'Envoy' : undefined,
    };
  } finally {
    memory.envoy.stop();
    memory.server.stop();
    await Promise.all([attacker.end(), bystanders.stop()]);
  }
}

/** The promise is 2 s at p99, also when there are more callers than can be served. */
const MAX_P99_MS = 2_000;
const MAX_BYTES = 512 * MIB;

const CALM_MS = 5_000;
const MAX_CALM_P99_MS = 1_000;

/** The share of calls that may be shed where other programs run too. */
const ON_A_BUSY_MACHINE = 0.05;

export interface Bounds {
  /** How much Envoy's memory may grow; by default, up to its limit. */
  readonly maxGrowthBytes?: number;
  readonly mustRecover?: boolean;
  /** The share of requests that may be shed; 0 by default. */
  readonly maxShedShare?: number;
  /** Whether a connection that is closed counts as shed too: all that frees Envoy of unread responses. */
  readonly mayClose?: boolean;
  /** Whether health checks fail only while others are shed. */
  readonly isHealthRight?: boolean;
  /** Whether latencies count, on a machine that runs nothing else. No response within 10 s is a failure in any case. */
  readonly isTimed?: boolean;
  readonly maxP99Ms?: number;
  /** The median of its `GET`s on a kept connection, as a multiple of that before the attack. */
  readonly maxTimes?: number;
}

export function breaches({ endsBut = Number.POSITIVE_INFINITY, check }: Attack, report: Report): string[] {
  const { memory, ended, bounds, visits, fromMs, toMs, unended } = report;
  const [times, maxTimes] = [timesOf(report), bounds.maxTimes ?? Number.POSITIVE_INFINITY];
  const calm = { isTimed: bounds.isTimed ?? false, maxP99Ms: MAX_CALM_P99_MS };
  return [
    !report.hasBegun && !bounds.isTimed && 'it was not sent', // at full size new connections may be slow
    ended !== undefined && `${ended} ended`,
    tookTooMuch('Envoy', memory.envoy, bounds.maxGrowthBytes),
    tookTooMuch('the server', memory.server),
    report.leftOpen !== undefined && `still open: ${report.leftOpen}`,
    bounds.mustRecover && !report.hasRecovered && 'Envoy kept the memory',
    ...servedBadly('a caller with a key', served(visits, 'caller', fromMs, toMs), bounds),
    ...servedBadly('an anonymous caller', served(visits, 'anonymous', fromMs, toMs), bounds),
    ...(bounds.maxShedShare === 1
      ? servedBadly('after the load a caller', served(visits, 'caller', toMs + CALM_MS), calm)
      : []),
    ...(bounds.isHealthRight ? healthLies(report) : []),
    bounds.isTimed && times > maxTimes && `a caller with a key waited ${times.toFixed(1)} times as long as before`,
    unended > endsBut && `${unended} requests of the attack have not ended`,
    ...(check?.(report) ?? []),
  ].filter((breach) => typeof breach === 'string');
}

/** How many times as long a `GET` on a kept connection took during the attack as before it. */
function timesOf({ visits, fromMs, toMs }: Report): number {
  const gets = visits.filter(({ what }) => what === 'GET /pets');
  const middle = (some: typeof gets) => (some.length === 0 ? Number.NaN : median(some.map(({ tookMs }) => tookMs)));
  const before = middle(gets.filter(({ endedAtMs }) => endedAtMs < fromMs));
  return middle(gets.filter(({ endedAtMs, tookMs }) => endedAtMs >= fromMs && endedAtMs - tookMs < toMs)) / before;
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
export function figuresOf(report: Report): string {
  const { memory, visits, fromMs, toMs, outcomes } = report;
  const times = timesOf(report).toFixed(1);
  const { visits: calls, p99Ms, failures } = served(visits, 'caller', fromMs, toMs);
  const [envoy, server] = [memory.envoy, memory.server].map((one) => [one.restBytes, one.peakBytes].map(mib));
  return JSON.stringify({ envoy, server, calls, p99Ms: Math.round(p99Ms), times, failures, outcomes });
}
