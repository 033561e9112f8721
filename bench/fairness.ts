/**
 * What one account at its plan's limit takes from another: the latency of an ordinary request beside the dearest form
 * of each operation, first a burst of them, then as many as the plan allows, and without.
 */
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { median } from '../test/support/numbers.ts';
import type { Scope } from '../test/support/scope.ts';
import type { TestStack } from '../test/support/service/stack.ts';
import { toColumns } from './columns.ts';
import { KEYED_FORMS } from './operation-forms.ts';
import { findDearest, type Running } from './prices.ts';
import { senderFrom } from './senders.ts';

/** The most that another account's latency may be: the median as a multiple, and p95. */
const MAX_TIMES = 2.5;
const MAX_P95_MS = 100;
/** Business: a thousand a minute, and what eight seconds of them make at once. */
const PER_SECOND = 1_000 / 60;
const BURST = 400;
const [ALONE_MS, LOADED_MS] = [3_000, 4_000];
const PAUSE_MS = 20;

export async function measureFairness(t: Scope, running: Running, say: (text: string) => void) {
  const { operator } = running.stack;
  const other = otherAccount(t, running.stack, await operator.keyOf({ perMinute: 1_000_000, perDay: 1_000_000 }));
  const lines = [['one account sends', 'alone: p50, p95 ms', 'beside it: p50, p95 ms', '×', '']];
  const broken: string[] = [];
  await other(ALONE_MS); // its code is compiled
  const alone = await other(ALONE_MS);
  for (const { row, how, send } of await findDearest(running, KEYED_FORMS, senderFrom(t, running.stack, '127.0.0.9'))) {
    const name = `${row} ${how}`.trim();
    const untilMs = performance.now() + LOADED_MS;
    const [beside] = await Promise.all([other(LOADED_MS), load(send, untilMs)]);
    const times = beside.p50 / alone.p50;
    const isUnfair = times > MAX_TIMES || beside.p95 > MAX_P95_MS;
    if (isUnfair) broken.push(`✗ ${name}: ${times.toFixed(1)} times, p95 ${beside.p95.toFixed(0)} ms`);
    const shown = [alone, beside].map(({ p50, p95 }) => `${p50.toFixed(1)}, ${p95.toFixed(0)}`);
    lines.push([name, ...shown, times.toFixed(1), isUnfair ? '✗' : '']);
    say(lines.at(-1)?.join('  ') ?? '');
  }
  return { text: toColumns(lines, [1, 2, 3]), broken };
}

/** Sends a burst, then what the plan allows, whether or not earlier ones have ended. */
async function load(send: () => Promise<unknown>, untilMs: number): Promise<void> {
  const one = () => send().catch(() => undefined); // a refusal
  const sent = Array.from({ length: BURST }, one);
  while (performance.now() < untilMs) {
    sent.push(one());
    await delay(1_000 / PER_SECOND);
  }
  await Promise.all(sent);
}

/** Sends an ordinary request at fixed times, whether or not earlier ones have a response. Resolves with the latency. */
function otherAccount(t: Scope, { publicAddress }: TestStack, key: string) {
  const { hostname: host, port } = new URL(`http://${publicAddress}`);
  const agent = new Agent({ keepAlive: true, timeout: 5_000 }); // Envoy closes an idle connection after 10 s
  t.teardown(() => agent.destroy());
  const headers = { authorization: `Bearer ${key}` };
  const get = async () => {
    const beganMs = performance.now();
    await new Promise<unknown>((resolve, reject) => {
      const sent = request({ agent, host, port, path: '/pets/1', headers }, (got) => got.resume().on('end', resolve));
      sent.on('error', reject).end();
    });
    return performance.now() - beganMs;
  };
  return async (ms: number) => {
    const sent: Promise<number>[] = [];
    for (const untilMs = performance.now() + ms; performance.now() < untilMs; await delay(PAUSE_MS)) sent.push(get());
    const sorted = (await Promise.all(sent)).toSorted((a, b) => a - b);
    return { p50: median(sorted), p95: sorted[Math.floor(0.95 * sorted.length)] ?? 0 };
  };
}
