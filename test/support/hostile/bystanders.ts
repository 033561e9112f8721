/**
 * Callers who must be served during an attack: one with a key, over kept connections, new ones and gRPC, and an
 * anonymous one at another address, who requests health and the docs page.
 */
import { Agent, type OutgoingHttpHeaders, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@grpc/grpc-js';
import { PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import { bearer, insecure, unary } from '../grpc.ts';
import { quantile } from '../numbers.ts';
import type { TestStack } from '../stack.ts';
import { grpcFrame, grpcHeaders, openSession, type Target, targetOf } from './sockets.ts';

const PAUSE_MS = 50;
/** Three requests are in turn: together they stay within the allowance of an address. */
const ANONYMOUS_PAUSE_MS = 250;
const TIMEOUT_MS = 10_000;

const CALLER_ADDRESS = '127.0.0.1';
const ANONYMOUS_ADDRESS = '127.0.0.3';

/** A request and its outcome. */
export interface Visit {
  readonly who: 'caller' | 'anonymous';
  readonly what: string;
  readonly endedAtMs: number;
  readonly tookMs: number;
  /** Undefined when the response was right. */
  readonly failure: string | undefined;
}

/** How a bystander was served. */
export interface Served {
  readonly visits: number;
  /** Of the slowest kind of request. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The number of failures by kind: `GET /pets: 503`. */
  readonly failures: Readonly<Record<string, number>>;
}

export class Bystanders {
  readonly #visits: Visit[] = [];
  readonly #over = new AbortController();
  readonly #loops: Promise<unknown>;

  constructor({ publicAddress, key }: TestStack) {
    const target = targetOf(publicAddress, CALLER_ADDRESS);
    const kept = new Agent({ keepAlive: true, maxSockets: 1 });
    const grpc = new Client(publicAddress, insecure);
    const withKey = { authorization: `Bearer ${key}` };
    const post = {
      method: 'POST',
      body: '{"name":"Cats"}',
      headers: { ...withKey, 'content-type': 'application/json' },
    };
    const anonymous = targetOf(publicAddress, ANONYMOUS_ADDRESS);
    this.#loops = Promise.all([
      this.#visit('caller', 'GET /pets', () => status(target, { path: '/pets', headers: withKey, agent: kept })),
      this.#visit('caller', 'POST', () => status(target, { path: '/categories', ...post, agent: kept })),
      this.#visit('caller', 'GET on a new connection', () => status(target, { path: '/pets', headers: withKey })),
      this.#visit('caller', 'gRPC', () => grpcStatus(grpc, key)),
      this.#visit('anonymous', '/healthz', () => status(anonymous, { path: '/healthz' })),
      this.#visit('anonymous', '/docs', () => status(anonymous, { path: '/docs' })),
      this.#visit('anonymous', 'Watch', () => watchStatus(anonymous)),
    ]).finally(() => {
      kept.destroy();
      grpc.close();
    });
  }

  get visits(): readonly Visit[] {
    return this.#visits;
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.#loops;
  }

  /** `ask` resolves with the failure; undefined when there is none. */
  async #visit(who: Visit['who'], what: string, ask: () => Promise<string | undefined>): Promise<void> {
    while (!this.#over.signal.aborted) {
      const beganAtMs = performance.now();
      const failure = await ask();
      const endedAtMs = performance.now();
      this.#visits.push({ who, what, endedAtMs, tookMs: endedAtMs - beganAtMs, failure });
      await delay(who === 'anonymous' ? ANONYMOUS_PAUSE_MS : PAUSE_MS);
    }
  }
}

/** How a bystander was served by the requests that were open in a span of time. */
export function served(
  visits: readonly Visit[],
  who: Visit['who'],
  fromMs = 0,
  toMs = Number.POSITIVE_INFINITY,
): Served {
  const own = visits.filter(
    ({ endedAtMs, tookMs, ...visit }) => visit.who === who && endedAtMs >= fromMs && endedAtMs - tookMs <= toMs,
  );
  const failures: Record<string, number> = {};
  for (const { what, failure } of own) {
    if (failure !== undefined) failures[`${what}: ${failure}`] = (failures[`${what}: ${failure}`] ?? 0) + 1;
  }
  // Of the slowest kind: where new connections are stuck, kept ones may be fast.
  const timesMs = [...Map.groupBy(own, ({ what }) => what).values()].map((kind) =>
    kind.map(({ tookMs }) => tookMs).sort((a, b) => a - b),
  );
  const worst = (share: number) => Math.max(...timesMs.map((ascending) => quantile(ascending, share)));
  const [p50Ms, p99Ms] = own.length === 0 ? [0, 0] : [worst(0.5), worst(0.99)];
  return { visits: own.length, p50Ms, p99Ms, failures };
}

interface Asked {
  readonly path: string;
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
  readonly agent?: Agent;
}

function status({ host, port, from: [localAddress] }: Target, { body, agent, ...asked }: Asked) {
  return new Promise<string | undefined>((resolve) => {
    const where = { host, port, localAddress, agent: agent ?? false, timeout: TIMEOUT_MS };
    const sent = request({ ...where, ...asked }, (answer) => {
      answer.resume();
      const { statusCode = 0 } = answer;
      answer.once('end', () => resolve(statusCode < 300 ? undefined : `${statusCode}`));
      answer.once('error', () => resolve('cut off'));
    });
    sent.once('timeout', () => sent.destroy(new Error(`no answer in ${TIMEOUT_MS / 1_000} s`)));
    sent.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    sent.end(body);
  });
}

async function grpcStatus(client: Client, key: string): Promise<string | undefined> {
  const deadline = Date.now() + TIMEOUT_MS;
  const request = { ids: [], limit: 1, pageToken: '' };
  try {
    await unary(client, Pets.listPets, request, bearer(key), { deadline });
    return undefined;
  } catch (error) {
    return `grpc-status ${(error as { code?: number }).code}`;
  }
}

/** Opens a Watch of the anonymous caller, and ends it after the first message. */
async function watchStatus(target: Target): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const timer = setTimeout(() => resolve(`no answer in ${TIMEOUT_MS / 1_000} s`), TIMEOUT_MS);
  const opened = openSession(target);
  opened.then(
    (session) => {
      const stream = session.request(grpcHeaders('/grpc.health.v1.Health/Watch'), { endStream: false });
      stream.end(grpcFrame());
      stream.once('data', () => resolve(undefined));
      stream.once('response', (headers) => {
        if (headers['grpc-status'] !== undefined) resolve(`grpc-status ${headers['grpc-status']}`);
      });
      stream.once('error', () => resolve('reset'));
      session.once('close', () => resolve('closed'));
    },
    () => resolve('refused connection'),
  );
  const found = await promise;
  clearTimeout(timer);
  opened.then(
    (session) => session.destroy(),
    () => undefined,
  );
  return found;
}
