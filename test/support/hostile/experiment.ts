/**
 * Measures one attack on one service: the memory of both processes, CPU time, how the bystanders were served, and what
 * is still open afterwards.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { TestStack } from '../stack.ts';
import { until } from '../until.ts';
import type { Attack, Size } from './attack.ts';
import { Attacker } from './attacker.ts';
import { type Bounds, CALM_MS, ON_A_BUSY_MACHINE } from './bounds.ts';
import { Bystanders, type Visit } from './bystanders.ts';
import { leftOpen, PROBED } from './probe.ts';
import { MemoryWatch, MIB, pidsOf, serviceCpuUs } from './resources.ts';
import { targetOf } from './sockets.ts';
import type { Outcomes } from './tally.ts';

/** The attack is ended when Envoy or the server takes more memory than this. */
const ABORT_BYTES = 3_072 * MIB;
const SETTLED = 1.5;
const WARM_UP_MS = 1_000;
/** Many attacks slow down new connections. */
const BEGIN_MS = 40_000;
const RECOVERY_MS = 60_000;
const SHORT_HOLD_MS = 4_000;

/** Settings of a service under attack: the defaults, apart from the limits of callers with a key. */
export const AS_DEPLOYED = {
  ...PROBED,
  LOG_LEVEL: 'info',
  ADDRESS_PER_MINUTE: '60',
  ADDRESS_BURST: '120',
  ADDRESS_PER_SECOND: '20',
} as const;

export interface Conditions {
  readonly isFull: boolean;
  /** The attacker's address. */
  readonly from: string;
  readonly key: string;
}

/** The memory of a process, in bytes. */
export interface Memory {
  readonly restBytes: number;
  readonly peakBytes: number;
  readonly afterBytes: number;
}

export interface Report {
  readonly outcomes: Outcomes;
  readonly bounds: Bounds;
  readonly memory: { readonly envoy: Memory; readonly server: Memory };
  /** How long it took until Envoy's memory was back; undefined when it was not. */
  readonly recoveredMs: number | undefined;
  /** The CPU time of Envoy and server during the attack. */
  readonly cpuUs: number;
  readonly visits: readonly Visit[];
  /** When the attack began and ended. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Whether all of it was sent in time. */
  readonly hasBegun: boolean;
  /** How many requests of the attack have not ended. */
  readonly unended: number;
  /** Whether it was ended because a process took too much memory. */
  readonly isAborted: boolean;
  /** What is still open some seconds after all callers have left, in words. */
  readonly leftOpen: string | undefined;
  /** The process that has ended. */
  readonly ended: string | undefined;
}

function boundsOf({ bounds, shortBounds }: Attack, isFull: boolean): Bounds {
  if (isFull) return { isTimed: true, ...bounds };
  const maxShedShare = Math.max(ON_A_BUSY_MACHINE, bounds?.maxShedShare ?? 0);
  return { ...bounds, ...shortBounds, maxShedShare };
}

export async function measureAttack(stack: TestStack, attack: Attack, conditions: Conditions): Promise<Report> {
  const { isFull, from, key } = conditions;
  const bounds = boundsOf(attack, isFull);
  const size: Size = isFull ? attack.full : (attack.short ?? attack.full);
  const pids = pidsOf(stack);
  const bystanders = new Bystanders(stack);
  let isAborted = false;
  const watch = (name: 'envoy' | 'server') =>
    new MemoryWatch(pids[name], ABORT_BYTES, () => {
      if (!isAborted) process.kill(pids[name], 'SIGKILL'); // it would keep growing
      isAborted = true;
    });
  const [memory, serverMemory] = [watch('envoy'), watch('server')];
  let attacker: Attacker | undefined;
  try {
    await delay(WARM_UP_MS);
    const [restBytes, serverRestBytes] = [memory.now(), serverMemory.now()];
    const cpuBeforeUs = serviceCpuUs(pids);
    const fromMs = performance.now();
    const attacking = new Attacker({ attack: attack.name, target: targetOf(stack.publicAddress, from), size, key });
    attacker = attacking;
    await until(() => isAborted || attacking.told.hasBegun, 'the beginning', BEGIN_MS).catch(() => undefined);
    const unended = ({ counts, total }: Outcomes) =>
      size.connections * size.perConnection - total + (counts.unanswered ?? 0);
    const { endsBut } = attack;
    const isOver = () => isAborted || (endsBut !== undefined && unended(attacking.told.outcomes) <= endsBut);
    const holdMs = isFull || endsBut !== undefined ? attack.holdMs : SHORT_HOLD_MS;
    await until(isOver, 'the end', holdMs).catch(() => undefined);
    const cpuUs = serviceCpuUs(pids) - cpuBeforeUs;
    const outcomes = await attacker.end();
    const toMs = performance.now();
    const hasSettled = () => isAborted || memory.now() <= SETTLED * restBytes;
    if (bounds.mustRecover) await until(hasSettled, 'the memory', RECOVERY_MS).catch(() => undefined);
    const recoveredMs = hasSettled() && !isAborted ? performance.now() - toMs : undefined;
    const untilMs = bounds.maxShedShare === 1 ? toMs + CALM_MS + 1_000 : toMs;
    await delay(Math.max(0, untilMs - performance.now()));
    await bystanders.stop();
    const left = isAborted ? undefined : await leftOpen(stack);
    const now = pidsOf(stack);
    return {
      outcomes,
      bounds,
      memory: { envoy: memory.since(restBytes), server: serverMemory.since(serverRestBytes) },
      recoveredMs,
      cpuUs,
      visits: bystanders.visits,
      fromMs,
      toMs,
      hasBegun: attacker.told.hasBegun,
      unended: unended(outcomes),
      isAborted,
      leftOpen: left,
      ended: now.server !== pids.server ? 'the server' : now.envoy !== pids.envoy ? 'Envoy' : undefined,
    };
  } finally {
    memory.stop();
    serverMemory.stop();
    await Promise.all([attacker?.end(), bystanders.stop()]);
  }
}
