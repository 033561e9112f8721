/**
 * The services that the hostile tests attack, the size of the attacks, and what a service takes and holds: memory, by
 * Linux's /proc, open streams of servers, open requests of Envoy.
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { TestFn } from 'ava';
import type { Child } from '../../../src/platform/launcher/child.ts';
import { callAdmin } from '../../../src/platform/launcher/envoy-admin.ts';
import { sharing } from '../../support/service/sharing.ts';
import { startTestStack, type TestStack } from '../../support/service/stack.ts';
import { until } from '../../support/until.ts';

/** Small in `npm test`, full in `npm run test:hostile` (scripts/hostile.ts). */
const { HOSTILE_SEED, HOSTILE_COUNT } = process.env;
export const isFull = HOSTILE_COUNT !== undefined;
export const SEED = Number(HOSTILE_SEED ?? 1);
export const INPUTS = Number(HOSTILE_COUNT ?? 2_000);

/** Why nothing can be attacked here; undefined when it can. */
export const hostileMissing =
  process.platform === 'linux' ? undefined : 'the hostile tests need Linux: its /proc, and all of 127.0.0.0/8';

const FILE = fileURLToPath(new URL('server-probe.ts', import.meta.url));

/** Settings of a service whose servers can be probed. */
export const PROBED = { NODE_OPTIONS: `--expose-gc --import=${FILE}` } as const;

/** Settings of a service under attack: the defaults, apart from the limits of callers with a key. */
export const AS_DEPLOYED = {
  ...PROBED,
  LOG_LEVEL: 'info',
  ADDRESS_PER_MINUTE: '60',
  ADDRESS_BURST: '120',
  ADDRESS_PER_SECOND: '20',
} as const;

export function hostileTest(settings: Readonly<Record<string, string>> = {}): TestFn<TestStack> {
  return sharing(hostileMissing, (t) => startTestStack(t, settings));
}

/** Fills the store with the largest list: about 600 KB. */
export async function storeLargestList({ rest }: TestStack): Promise<void> {
  const description = '猫'.repeat(2_000);
  for (let i = 1; i <= 100; i += 1) await rest.post('/categories', { name: `Category ${i}`, description });
}

export const MIB = 2 ** 20;
const SAMPLE_MS = 25;
/** A process that takes more is killed: the machine may have no more. */
const KILL_BYTES = 3_072 * MIB;

export function mib(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}

/** The resident memory of a process, in bytes. 0 when it has ended. */
export function rssBytes(pid: number): number {
  try {
    const [, kib = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kib) * 1_024;
  } catch {
    return 0;
  }
}

export function pidsOf({ stack }: TestStack): { readonly envoy: number; readonly server: number } {
  return { envoy: stack.envoy.process.pid ?? -1, server: stack.servers[0]?.process.pid ?? -1 };
}

export type MemoryWatch = ReturnType<typeof watchMemory>;

/** Watches a process's memory from now on. Call `stop` in the end. */
export function watchMemory(pid: number) {
  const watch = {
    restBytes: rssBytes(pid),
    peakBytes: 0,
    now() {
      const bytes = rssBytes(pid);
      watch.peakBytes = Math.max(watch.peakBytes, bytes);
      return bytes;
    },
    stop: () => clearInterval(timer),
  };
  const timer = setInterval(() => {
    if (watch.now() > KILL_BYTES) process.kill(pid, 'SIGKILL');
  }, SAMPLE_MS);
  return watch;
}

export function usedBytes(stack: TestStack): Promise<number> {
  return ask(stack, stack.stack.servers[0], 0, 'bytes');
}

export async function openStreams(stack: TestStack): Promise<number> {
  const counts = await Promise.all(stack.stack.servers.map((server, index) => ask(stack, server, index, 'streams')));
  return counts.reduce((sum, count) => sum + count, 0);
}

async function ask(
  { config }: TestStack,
  server: Child | undefined,
  index: number,
  question: 'streams' | 'bytes',
): Promise<number> {
  const socket = connect(join(config.dataDir, `probe-${config.grpcPort + index}-${server?.process.pid}`));
  socket.write(question);
  return Number(await text(socket));
}

/** The open requests by Envoy's statistics: those of callers, and those at the servers. */
async function openRequests({ config }: TestStack): Promise<Readonly<Record<string, number>>> {
  const filter = 'downstream_rq_active$|upstream_rq_active$';
  const lines = (await callAdmin(config, 'GET', `/stats?filter=${filter}`)).trim().split('\n');
  const all = lines.map((line): [string, number] => {
    const [name = '', value = ''] = line.split(': ');
    return [name, Number(value)];
  });
  // This request itself is one of them.
  return Object.fromEntries(all.filter(([name, count]) => count > 0 && !/statistics|\.admin\./.test(name)));
}

/**
 * Waits until nothing is open on any server or in Envoy. Resolves with what is still open then, in words; undefined
 * when nothing is.
 */
export async function leftOpen(stack: TestStack, withinMs = 10_000): Promise<string | undefined> {
  let left = '';
  const isNothing = async () => {
    const streams = await openStreams(stack);
    const requests = await openRequests(stack);
    left = `${streams} streams at the server; ${JSON.stringify(requests)}`;
    return streams === 0 && Object.keys(requests).length === 0;
  };
  const isClean = await until(isNothing, 'the end of everything', withinMs).catch((error: unknown) => {
    if (left === '') left = `no answer: ${(error as Error).message}`;
    return false;
  });
  return isClean ? undefined : left;
}
