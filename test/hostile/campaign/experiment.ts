/**
 * Measures one attack on one service: memory, CPU time, how the bystanders were served, and what is open afterwards.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { targetOf } from '../../support/calls/sockets.ts';
import { cpuTimesUs } from '../../support/machine/cpu-time.ts';
import type { TestStack } from '../../support/service/stack.ts';
import { until } from '../../support/until.ts';
import { startAttacker } from './attacker.ts';
import { type Attack, total } from './attacks.ts';
import { type Bounds, CALM_MS, ON_A_BUSY_MACHINE } from './bounds.ts';
import { startBystanders } from './bystanders.ts';
import { leftOpen, pidsOf, watchMemory } from './memory.ts';
import { isFull } from './service.ts';

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

/** What an attack has done. */
export type Report = Awaited<ReturnType<typeof measureAttack>>;

/** `from` is the attacker's address. */
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
    const outcomes = await attacker.end();
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
      /** Whether Envoy's memory is back. */
      hasRecovered: isSettled(),
      /** The CPU time of Envoy and server during the attack. */
      cpuUs: usedUs,
      visits: bystanders.visits,
      fromMs,
      toMs,
      /** Whether all of it was sent in time. */
      hasBegun: attacker.told.hasBegun,
      /** How many requests of the attack have not ended. */
      unended: unended(),
      /** What is still open some seconds after all callers have left, in words. */
      leftOpen: left,
      /** The process that has ended. */
      ended: now.server !== pids.server ? 'the server' : now.envoy !== pids.envoy ? 'Envoy' : undefined,
    };
  } finally {
    memory.envoy.stop();
    memory.server.stop();
    await Promise.all([attacker.end(), bystanders.stop()]);
  }
}
