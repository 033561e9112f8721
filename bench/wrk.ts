/**
 * The load generator: wrk, whose one thread costs a few per cent of what the service does. Each of its connections
 * sends a request, waits for the response, and sends the next one.
 */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram, sh } from '../test/support/machine/find-program.ts';
import type { Request } from './scenarios.ts';

const WRK = findProgram(['wrk']);
/** Why there is no load; undefined when there can be. */
export const wrkMissing = WRK === undefined ? 'wrk is missing: install it (apt-get install wrk)' : undefined;
const SCRIPT = fileURLToPath(new URL('requests.lua', import.meta.url));
/** Prepared requests of a run: too many to stay in a cache. */
const REQUESTS = 16_384;

export interface Load {
  /** Such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Of each request. In a value, UNIQUE stands for a text that is different in each request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Returns a random request. */
  readonly request: () => Request;
  readonly connections: number;
  /** How long each connection waits before a request, on average. Default: not at all. */
  readonly pauseMs?: number | undefined;
  readonly seconds: number;
  /** For a file of requests. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

export interface Outcome {
  /** Responses. */
  readonly count: number;
  readonly seconds: number;
  /** Of all responses. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Responses with a status of 400 or more. */
  readonly failed: number;
  /** Requests without a response in 10 seconds, and failures of connections. */
  readonly lost: number;
}

export async function runWrk(load: Load): Promise<Outcome> {
  const { url, headers, request, connections, pauseMs = 0, seconds, folder, signal } = load;
  const file = join(folder, 'requests');
  const lines = Array.from({ length: REQUESTS }, request).map(({ path, body = '' }) => `${path} ${body}\n`);
  await writeFile(file, lines.join(''));
  const options = ['-t', '1', '-c', `${connections}`, '-d', `${seconds}`, '--timeout', '10', '-s', SCRIPT];
  const lists = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const args = [...options, ...lists, url, '--', file, randomUUID(), `${pauseMs}`];
  const { stdout } = await sh(WRK ?? 'wrk', args, { signal });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Outcome;
}
