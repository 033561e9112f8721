/**
 * Measures one attack on one service: the memory of both processes, CPU time, how the bystanders were served, and what
 * is still open afterwards.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { TestStack } from '../stack.ts';
import { until } from '../until.ts';
import type { Attack, Size } from './attack.ts';
import { Attacker } from './attacker.ts';
import { Bystanders, type Served, served, type Visit } from './bystanders.ts';
import { leftOpen, PROBED } from './probe.ts';
import { MemoryWatch, MIB, pidsOf, serviceCpuUs } from './resources.ts';
import { targetOf } from './sockets.ts';
import type { Outcomes } from './tally.ts';

/** The attack is ended when Envoy or the server takes more memory than this. */
const ABORT_BYTES = 3_072 * MIB;
const SETTLED = 1.5;
const WARM_UP_MS = 1_500;

/** Settings of a service under attack: the defaults, apart from the limits of callers with a key. */
export const AS_DEPLOYED = {
  ...PROBED,
  LOG_LEVEL: 'info',
  ADDRESS_PER_MINUTE: '60',
  ADDRESS_BURST: '120',
  ADDRESS_PER_SECOND: '20',
} as const;

export interface Conditions {
  readonly size: Size;
  /** The longest duration of the attack. */
  readonly holdMs: number;
  /** Whether the attack may end early. */
  readonly isOver?: (outcomes: Outcomes) => boolean;
  /** The time in which Envoy must give memory back. */
  readonly recoveryMs: number;
  /** How long the bystanders continue after the attack, at least. */
  readonly afterMs?: number;
  /** The attacker's addresses. */
  readonly from: readonly [string, ...string[]];
  readonly signal?: AbortSignal;
  /** The attacker's key. Default: the bystander's. */
  readonly key?: string;
}

/** The memory of a process, in bytes. */
export interface Memory {
  readonly restBytes: number;
  readonly peakBytes: number;
  readonly afterBytes: number;
}

export interface Report {
  readonly attack: string;
  readonly size: Size;
  readonly outcomes: Outcomes;
  readonly memory: { readonly envoy: Memory; readonly server: Memory };
  /** How long it took until Envoy's memory was back; undefined when it was not. */
  readonly recoveredMs: number | undefined;
  /** The CPU time of Envoy and server during the attack. */
  readonly cpuUs: number;
  readonly attackMs: number;
  readonly caller: Served;
  readonly anonymous: Served;
  readonly visits: readonly Visit[];
  /** When the attack began and ended. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Whether it was ended because a process took too much memory. */
  readonly isAborted: boolean;
  /** What is still open some seconds after all callers have left, in words. */
  readonly leftOpen: string | undefined;
  /** The process that has ended. */
  readonly ended: string | undefined;
}

export async function measureAttack(stack: TestStack, attack: Attack, conditions: Conditions): Promise<Report> {
  const { size, holdMs, isOver = () => false, recoveryMs, afterMs = 0, from, signal, key = stack.key } = conditions;
  const pids = pidsOf(stack);
  const bystanders = new Bystanders(stack);
  const tooMuch = new AbortController();
  const watch = (name: 'envoy' | 'server') =>
    new MemoryWatch(pids[name], ABORT_BYTES, () => {
      if (!tooMuch.signal.aborted) process.kill(pids[name], 'SIGKILL'); // it would keep growing
      tooMuch.abort();
    });
  const [memory, serverMemory] = [watch('envoy'), watch('server')];
  let attacker: Attacker | undefined;
  try {
    await delay(WARM_UP_MS, undefined, { signal });
    const [restBytes, serverRestBytes] = [memory.now(), serverMemory.now()];
    const cpuBeforeUs = serviceCpuUs(pids);
    const fromMs = performance.now();
    const over = AbortSignal.any([tooMuch.signal, ...(signal === undefined ? [] : [signal])]);
    const target = targetOf(stack.publicAddress, ...from);
    const attacking = Attacker.start(attack, target, size, key);
    attacker = attacking;
    await attacker.begun(over);
    await until(() => over.aborted || isOver(attacking.outcomes), 'the end', holdMs).catch(() => undefined);
    const cpuUs = serviceCpuUs(pids) - cpuBeforeUs;
    const outcomes = await attacker.end();
    const toMs = performance.now();
    signal?.throwIfAborted();
    const hasSettled = () => over.aborted || memory.now() <= SETTLED * restBytes;
    await until(hasSettled, 'the memory', recoveryMs).catch(() => undefined);
    signal?.throwIfAborted();
    const isBack = !tooMuch.signal.aborted && memory.now() <= SETTLED * restBytes;
    const recoveredMs = isBack ? performance.now() - toMs : undefined;
    await delay(Math.max(0, toMs + afterMs - performance.now()), undefined, { signal });
    await bystanders.stop();
    const { visits } = bystanders;
    const left = tooMuch.signal.aborted ? undefined : await leftOpen(stack);
    const now = pidsOf(stack);
    return {
      attack: attack.name,
      size,
      outcomes,
      memory: { envoy: memory.since(restBytes), server: serverMemory.since(serverRestBytes) },
      recoveredMs,
      cpuUs,
      attackMs: toMs - fromMs,
      caller: served(visits, 'caller', fromMs, toMs),
      anonymous: served(visits, 'anonymous', fromMs, toMs),
      visits,
      fromMs,
      toMs,
      isAborted: tooMuch.signal.aborted,
      leftOpen: left,
      ended: now.server !== pids.server ? 'the server' : now.envoy !== pids.envoy ? 'Envoy' : undefined,
    };
  } finally {
    memory.stop();
    serverMemory.stop();
    await Promise.all([attacker?.end(), bystanders.stop()]);
  }
}
