/**
 * What one account at its plan's limit takes from another: the latency of an ordinary request beside each of the
 * dearest forms of the price list, first a burst of them, then as many as the plan allows, and without.
 */
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { CommandFailed } from '../test/support/command-line.ts';
import { median } from '../test/support/numbers.ts';
import type { Scope } from '../test/support/scope.ts';
import { startTestStack, type TestStack } from '../test/support/service/stack.ts';
import { toColumns } from './columns.ts';
import { fillForPrices } from './fill.ts';
import { KEYED } from './price-forms.ts';

/** The most that another account's latency may be: the median as a multiple, and p95. */
const MAX_TIMES = 2.5;
const MAX_P95_MS = 100;
/** Business: a thousand a minute. */
const PER_SECOND = 1_000 / 60;
const BURST = 100;
const QUIET_MS = 5_000;
const LOADED_MS = 12_000;
const PAUSE_MS = 20;

/** The dearest of the price list, by what they wait for: the event loop, the database's reader or writer, Envoy. */
const FORMS = [
  'GET /categories?limit=100, the largest',
  'GET /events?limit=100, the largest',
  'GET /events?types=, in the middle of many',
  'GET /pets?ids, 100 of them',
  'PUT /categories, the largest, changed',
  'POST /categories, the largest, with a new idempotency key',
  'PUT /store/inventory of one pet by all',
  'POST of 64 KB: different members',
  'gRPC: 64 KB of unknown fields',
  'GET /events/stream, a second from the oldest',
];

export async function measureFairness(
  t: Scope,
  settings: Readonly<Record<string, string>>,
  say: (text: string) => void,
) {
  const env = { LOG_LEVEL: 'info', DEMO_ACCOUNT: 'yes', ...settings };
  const stack = await startTestStack(t, env, { prepare: fillForPrices });
  const { prices } = await KEYED(t, stack);
  const { id } = await stack.operator.account({ perMinute: 1_000_000, perDay: 1_000_000 });
  const other = otherAccount(t, stack, (await stack.operator.key(id)).key);
  await other(QUIET_MS);
  const lines = [['one account sends', 'alone: p50, p95 ms', 'beside it: p50, p95 ms', '×', '']];
  const broken: string[] = [];
  for (const name of FORMS) {
    const form = prices.find((one) => one.name === name);
    if (form === undefined) throw new CommandFailed(`the price list has no ${name}`);
    const alone = await other(QUIET_MS);
    const untilMs = performance.now() + LOADED_MS;
    const [beside] = await Promise.all([other(LOADED_MS), load(form.send, untilMs)]);
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
async function load(send: () => Promise<string>, untilMs: number): Promise<void> {
  const sent = Array.from({ length: BURST }, send);
  while (performance.now() < untilMs) {
    sent.push(send());
    await delay(1_000 / PER_SECOND);
  }
  await Promise.allSettled(sent);
}

/** Sends an ordinary request now and then. Resolves with its latency. */
function otherAccount(t: Scope, { publicAddress }: TestStack, key: string) {
  const { hostname: host, port } = new URL(`http://${publicAddress}`);
  const agent = new Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  const headers = { authorization: `Bearer ${key}` };
  const get = () =>
    new Promise<void>((resolve, reject) => {
      const sent = request({ agent, host, port, path: '/pets/1', headers }, (got) => got.resume().on('end', resolve));
      sent.on('error', reject).end();
    });
  return async (ms: number) => {
    const latencies: number[] = [];
    for (const untilMs = performance.now() + ms; performance.now() < untilMs; ) {
      const beganMs = performance.now();
      await get();
      latencies.push(performance.now() - beganMs);
      await delay(PAUSE_MS);
    }
    const sorted = latencies.toSorted((a, b) => a - b);
    return { p50: median(latencies), p95: sorted[Math.floor(0.95 * sorted.length)] ?? 0 };
  };
}
