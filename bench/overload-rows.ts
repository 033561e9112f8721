/** What the overload benchmark does with the service: measures how much it can take, and offers multiples of that. */
import { formatCount } from './numbers.ts';
import type { ClosedOutcome, OpenOutcome, OverloadGenerator } from './overload-load.ts';
import type { OverloadOptions } from './overload-options.ts';
import type { Cores } from './pinning.ts';
import type { Progress } from './progress.ts';
import { type Request, ROWS, type Row, type Way } from './rows.ts';
import type { ServiceStack } from './stacks.ts';
import { watchServer } from './watch-server.ts';

export const WAY: Way = { name: '100,000 pets', pets: 100_000 };
/** Parts of the capacity, for latency as callers see it, and multiples. */
const TIMES = [0.25, 0.5, 0.75, 1, 2, 5, 10];
/** What capacity is measured with. */
export const CAPACITY_CLIENTS = 64;
const WARM_UP_S = 2;
/** Clients that behave well, all at once. */
export const CLIENTS = 2_000;
const REQUESTS = 4_096;

/** One load. */
export interface Offered {
  readonly row: Row;
  readonly times: number;
  readonly perSecond: number;
  readonly outcome: OpenOutcome;
  /** What Envoy said of the only server meanwhile. */
  readonly server: { readonly failedChecks: number; readonly wasUnhealthy: boolean };
}

export interface OverloadResults {
  readonly cores: Cores | undefined;
  readonly capacities: ReadonlyMap<Row, ClosedOutcome>;
  readonly offered: readonly Offered[];
  readonly clients: ClosedOutcome;
}

interface Setup extends OverloadOptions {
  readonly stack: ServiceStack;
  readonly load: OverloadGenerator;
  readonly cores: Cores | undefined;
  readonly progress: Progress;
}

export async function measureOverload(setup: Setup): Promise<OverloadResults> {
  const rows = ROWS.filter(({ name }) => name === 'get' || name === 'post');
  const capacities = new Map<Row, ClosedOutcome>();
  const offered: Offered[] = [];
  for (const row of rows) {
    setup.progress.update(`${row.name}: measuring the capacity`);
    await loop(row, CAPACITY_CLIENTS, WARM_UP_S, setup);
    const capacity = await loop(row, CAPACITY_CLIENTS, setup.seconds, setup);
    capacities.set(row, capacity);
    for (const times of TIMES) {
      setup.progress.update(`${row.name}: ${times} times the capacity`);
      offered.push(await offer(row, times, (times * capacity.served.count) / capacity.seconds, setup));
    }
  }
  const [get] = rows;
  if (get === undefined) throw new Error('there is no row to ask with');
  setup.progress.update(`${formatCount(CLIENTS)} clients at once`);
  return { cores: setup.cores, capacities, offered, clients: await loop(get, CLIENTS, 2 * setup.seconds, setup) };
}

async function loop(row: Row, clients: number, seconds: number, { load, stack }: Setup): Promise<ClosedOutcome> {
  return load.loop({ kind: 'closed', ...common(row, stack), clients, seconds });
}

async function offer(row: Row, times: number, perSecond: number, setup: Setup): Promise<Offered> {
  const { load, stack, seconds, connections } = setup;
  const watched = watchServer(stack.statisticsUrl);
  const outcome = await load.offer({
    kind: 'open',
    ...common(row, stack),
    perSecond,
    seconds,
    maxConnections: connections,
    healthRequest: toRaw({ method: 'GET', path: '/healthz' }, stack),
    lightRequest: toRaw({ method: 'GET', path: '/pets/1' }, stack),
  });
  return { row, times, perSecond, outcome, server: await watched.stop() };
}

function common(row: Row, stack: ServiceStack) {
  const { hostname: host, port } = new URL(stack.url);
  const requests = Array.from({ length: REQUESTS }, () => toRaw(row.request(WAY.pets), stack));
  return { target: { host, port: Number(port) }, requests, timed: stack.counted };
}

function toRaw({ method, path, body }: Request, { key, url }: ServiceStack): string {
  const head = [`${method} ${path} HTTP/1.1`, `host: ${new URL(url).host}`, `authorization: Bearer ${key}`];
  const ofBody = body === undefined ? [] : ['content-type: application/json', `content-length: ${body.length}`];
  return `${[...head, ...ofBody].join('\r\n')}\r\n\r\n${body ?? ''}`;
}
