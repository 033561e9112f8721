/**
 * The other account of fairness.ts, in a thread of its own: who sends hundreds of requests at once is busy itself. It
 * sends an ordinary request at fixed times, whether or not earlier ones have a response. A message says for how long;
 * the answer is the latency.
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

const PAUSE_MS = 20;

const { address, key }: OtherAccount = workerData;
const { hostname: host, port } = new URL(`http://${address}`);
const agent = new Agent({ keepAlive: true, timeout: 5_000 }); // Envoy closes an idle connection after 10 s
const headers = { authorization: `Bearer ${key}` };

async function get(): Promise<number> {
  const beganMs = performance.now();
  await new Promise<unknown>((resolve, reject) => {
    const sent = request({ agent, host, port, path: '/pets/1', headers }, (got) => got.resume().on('end', resolve));
    sent.on('error', reject).end();
  });
  return performance.now() - beganMs;
}

parentPort?.on('message', async (ms: number) => {
  const sent: Promise<number>[] = [];
  for (const untilMs = performance.now() + ms; performance.now() < untilMs; await delay(PAUSE_MS)) sent.push(get());
  const sorted = (await Promise.all(sent)).toSorted((a, b) => a - b);
  parentPort?.postMessage({
    p50: median(sorted),
    p95: sorted[Math.floor(0.95 * sorted.length)] ?? 0,
  } satisfies Latency);
});
