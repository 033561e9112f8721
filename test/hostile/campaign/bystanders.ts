/**
 * Callers who must be served during an attack: one with a key, over kept connections, new ones and gRPC, and an
 * anonymous one at another address, who requests health and the docs page.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import { GrpcCaller } from '../../support/calls/grpc-caller.ts';
import { type Http1Connection, http1Connection } from '../../support/calls/http1-connection.ts';
import { grpcFrame, rawGrpc, type Target, targetOf } from '../../support/calls/http2.ts';
import { quantile } from '../../support/numbers.ts';
import type { TestStack } from '../../support/service/stack.ts';

const PAUSE_MS = 50;
/** Three requests are in turn: together they stay within the allowance of an address. */
const ANONYMOUS_PAUSE_MS = 250;
const TIMEOUT_MS = 10_000;

export interface Visit {
  readonly who: 'caller' | 'anonymous';
  readonly what: string;
  readonly endedAtMs: number;
  readonly tookMs: number;
  readonly failure: string | undefined;
}

export function startBystanders({ publicAddress, key }: TestStack) {
  const visits: Visit[] = [];
  let isOver = false;
  const visit = async (who: Visit['who'], what: string, ask: () => Promise<string | undefined>) => {
    while (!isOver) {
      const beganAtMs = performance.now();
      const failure = await ask();
      const endedAtMs = performance.now();
      visits.push({ who, what, endedAtMs, tookMs: endedAtMs - beganAtMs, failure });
      await delay(who === 'anonymous' ? ANONYMOUS_PAUSE_MS : PAUSE_MS);
    }
  };
  const [caller, anonymous] = [targetOf(publicAddress, '127.0.0.1'), targetOf(publicAddress, '127.0.0.3')];
  const grpc = new GrpcCaller(publicAddress, key);
  const kept = Array.from({ length: 2 }, () => http1Connection(caller));
  const own = `Host: petstore\r\nAuthorization: Bearer ${key}\r\n`;
  const get = `GET /pets HTTP/1.1\r\n${own}\r\n`;
  const body = 'Content-Type: application/json\r\nContent-Length: 15\r\n\r\n{"name":"Cats"}';
  const health = { path: '/grpc.health.v1.Health/Check', body: grpcFrame(), giveUpMs: TIMEOUT_MS };
  const loops = Promise.all([
    visit('caller', 'GET /pets', () => failureOf(get, kept[0])),
    visit('caller', 'POST', () => failureOf(`POST /categories HTTP/1.1\r\n${own}${body}`, kept[1])),
    visit('caller', 'GET on a new connection', () => failureOfNew(get, caller)),
    visit('caller', 'gRPC', () =>
      grpc.call(Pets.listPets, { limit: 1 }, { timeoutMs: TIMEOUT_MS }).then(
        () => undefined,
        ({ code }) => `grpc-status ${code}`,
      ),
    ),
    ...['/healthz', '/docs'].map((path) =>
      visit('anonymous', path, () => failureOfNew(`GET ${path} HTTP/1.1\r\nHost: petstore\r\n\r\n`, anonymous)),
    ),
    visit('anonymous', 'Check', () =>
      rawGrpc(anonymous, health).then(
        ({ status }) => (status === 0 ? undefined : status === undefined ? 'closed' : `grpc-status ${status}`),
        () => 'closed',
      ),
    ),
  ]);
  return {
    visits,
    async stop() {
      isOver = true;
      await loops;
      for (const connection of kept) connection.close();
      grpc.close();
    },
  };
}

async function failureOf(request: string, connection: Http1Connection | undefined): Promise<string | undefined> {
  const answer = await connection?.exchange(Buffer.from(request), { giveUpMs: TIMEOUT_MS });
  if (typeof answer !== 'object') return answer;
  return answer.status < 300 ? undefined : `${answer.status}`;
}

async function failureOfNew(request: string, target: Target): Promise<string | undefined> {
  const connection = http1Connection(target);
  return failureOf(request, connection).finally(() => connection.close());
}

/** How a bystander was served by the requests that were open in a span of time. */
export function served(visits: readonly Visit[], who: Visit['who'], fromMs = 0, toMs = Number.POSITIVE_INFINITY) {
  const own = visits.filter(
    ({ endedAtMs, tookMs, ...visit }) => visit.who === who && endedAtMs >= fromMs && endedAtMs - tookMs <= toMs,
  );
  /** The number of failures by kind: `GET /pets: 503`. */
  const failures: Record<string, number> = {};
  for (const { what, failure } of own) {
    if (failure !== undefined) failures[`${what}: ${failure}`] = (failures[`${what}: ${failure}`] ?? 0) + 1;
  }
  // Of the slowest kind: where new connections are stuck, kept ones may be fast.
  const timesMs = [...Map.groupBy(own, ({ what }) => what).values()].map((kind) =>
    kind.map(({ tookMs }) => tookMs).sort((a, b) => a - b),
  );
  const p99Ms = Math.max(0, ...timesMs.map((ascending) => quantile(ascending, 0.99)));
  return { visits: own.length, p99Ms, failures };
}
