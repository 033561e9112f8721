/**
 * What one account at its plan's limit takes from another: the latency of ordinary requests beside the dearest form of
 * each operation, first a burst of them, then as many as the plan allows, and without.
 */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Scope } from '../test/support/scope.ts';
import type { TestStack } from '../test/support/service/stack.ts';
import { toColumns } from './columns.ts';
import { KEYED_FORMS } from './operation-forms.ts';
import type { Latencies, OtherAccount } from './other-account.ts';
import { findDearest, type Ready, type Running } from './prices.ts';
import { senderFrom } from './senders.ts';

/** The most that another account's latency may be: the median as a multiple, and p95. */
const MAX_TIMES = 2.5;
const MAX_P95_MS = 100;
/** Business: a thousand a minute, and what eight seconds of them make at once. */
const PER_SECOND = 1_000 / 60;
const BURST = 400;
const [ALONE_MS, LOADED_MS] = [3_000, 4_000];

export async function measureFairness(t: Scope, running: Running, say: (text: string) => void) {
  const { operator } = running.stack;
  const other = otherAccount(t, running.stack, await operator.keyOf({ perMinute: 1_000_000, perDay: 1_000_000 }));
  const lines = [['one account sends, and another', 'alone: p50, p95 ms', 'beside it: p50, p95 ms', '×', '']];
  const broken: string[] = [];
  await other(ALONE_MS); // its code is compiled
  const alone = await other(ALONE_MS);
  for (const form of await findDearest(running, KEYED_FORMS, senderFrom(t, running.stack, '127.0.0.9'))) {
    const name = `${form.row} ${form.how}`.trim();
    const untilMs = performance.now() + LOADED_MS;
    const [beside] = await Promise.all([other(LOADED_MS), load(form, untilMs)]);
    for (const what of ['read', 'write'] as const) {
      const [before, now] = [alone[what], beside[what]];
      const times = now.p50 / before.p50;
      const isUnfair = times > MAX_TIMES || now.p95 > MAX_P95_MS;
      if (isUnfair) broken.push(`✗ ${name}, ${what}: ${times.toFixed(1)} times, p95 ${now.p95.toFixed(0)} ms`);
      const shown = [before, now].map(({ p50, p95 }) => `${p50.toFixed(1)}, ${p95.toFixed(0)}`);
      lines.push([`${name}, ${what}s`, ...shown, times.toFixed(1), isUnfair ? '✗' : '']);
      say(lines.at(-1)?.join('  ') ?? '');
    }
  }
  return { text: toColumns(lines, [1, 2, 3]), broken };
}

/** Sends a burst, then what the plan allows, whether or not earlier ones have ended. */
async function load({ send, counts }: Ready, untilMs: number): Promise<void> {
  const units = counts?.((await send()).body.length) ?? 1;
  const one = () => send().catch(() => undefined); // a refusal
  const sent = Array.from({ length: Math.ceil(BURST / units) }, one);
  while (performance.now() < untilMs) {
    sent.push(one());
    await delay((units * 1_000) / PER_SECOND);
  }
  await Promise.all(sent);
}

/** Resolves with the latencies of the other account's requests in this time. */
function otherAccount(t: Scope, { publicAddress: address }: TestStack, key: string) {
  const data: OtherAccount = { address, key };
  const thread = new Worker(new URL('other-account.ts', import.meta.url), { workerData: data });
  t.teardown(() => thread.terminate());
  return async (ms: number): Promise<Latencies> => {
    thread.postMessage(ms);
    const [latencies] = await once(thread, 'message');
    return latencies;
  };
}
