/**
 * The other account of fairness.ts, in a thread of its own: who sends hundreds of requests at once is busy itself. It
 * sends an ordinary request at fixed times, in turn one that reads and one that writes, whether or not earlier ones
 * have a response. A message says for how long; the answer is the latency.
 */
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { median } from '../test/support/numbers.ts';

export interface OtherAccount {
  /** Of the service: `127.0.0.1:8080`. */
  readonly address: string;
  readonly key: string;
}

/** In ms. */
export interface Latency {
  readonly p50: number;
  readonly p95: number;
}

export type Latencies = Readonly<Record<'read' | 'write', Latency>>;

const PAUSE_MS = 20;

const { address, key }: OtherAccount = workerData;
const { hostname: host, port } = new URL(`http://${address}`);
const agent = new Agent({ keepAlive: true, timeout: 5_000 }); // Envoy closes an idle connection after 10 s
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
const FORMS = { read: { method: 'GET', path: '/pets/1' }, write: { method: 'POST', path: '/categories' } };

async function send(form: keyof typeof FORMS): Promise<number> {
  const beganMs = performance.now();
  await new Promise<unknown>((resolve, reject) => {
    const sent = request({ agent, host, port, headers, ...FORMS[form] }, (got) => got.resume().on('end', resolve));
    sent.on('error', reject).end(form === 'write' ? '{"name":"of the other account"}' : '');
  });
  return performance.now() - beganMs;
}

function latencyOf(all: readonly number[]): Latency {
  const sorted = all.toSorted((a, b) => a - b);
  return { p50: median(sorted), p95: sorted[Math.floor(0.95 * sorted.length)] ?? 0 };
}

parentPort?.on('message', async (ms: number) => {
  const sent = { read: [] as Promise<number>[], write: [] as Promise<number>[] };
  for (const untilMs = performance.now() + ms; performance.now() < untilMs; ) {
    for (const form of ['read', 'write'] as const) {
      sent[form].push(send(form));
      await delay(PAUSE_MS);
    }
  }
  const [read, write] = await Promise.all([Promise.all(sent.read), Promise.all(sent.write)]);
  parentPort?.postMessage({ read: latencyOf(read), write: latencyOf(write) } satisfies Latencies);
});
