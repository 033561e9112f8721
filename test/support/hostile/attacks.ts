/** All attacks. The tests run each of them with callers beside it, who must be served. */
import type { Attack } from './attack.ts';
import {
  comeInCrowds,
  get,
  grpc,
  idle,
  openStreams,
  reflectUnread,
  sendEndlessBodies,
  sendHeavyBodies,
  UNREAD,
} from './attack-runs.ts';
import type { Bounds } from './bounds.ts';
import type { Report } from './experiment.ts';
import { MIB } from './resources.ts';
import { grpcFrame } from './sockets.ts';

/** 99 % of the requests of a caller with a key are served within a second. */
const SERVED: Bounds = { maxShedShare: 0.01, maxP99Ms: 1_000 };
/** The streams of 55 connections: 100 are allowed, one is spare. */
const ALL_SLOTS = { connections: 55, perConnection: 99 };
/** The streams that one address without a key may have open, of each of Envoy's threads and servers. */
const SHARE = 50;
const MAX_WATCHES = 500;
/** The CPU time of a mebibyte that is not read. To parse it takes several times as long. */
const MAX_CPU_US = 3_000;

const LIST_PETS = '/petstore.v1.PetService/ListPets';
const HEALTH = '/grpc.health.v1.Health';

/** `promise` is the title of its test. */
const attack = (promise: string, of: Omit<Attack, 'promise'>): Attack => ({ promise, ...of });

export const ATTACKS: readonly Attack[] = [
  attack('Memory - unread pages cost Envoy little memory, and it releases all of it', {
    name: 'unread-pages',
    full: { connections: 40, perConnection: 100 },
    short: { connections: 4, perConnection: 100 },
    holdMs: 15_000,
    shortBounds: { maxGrowthBytes: 100 * MIB, mustRecover: true },
    run: (context) => openStreams(context, { requests: [get('/docs/swagger-ui-bundle.js')], ...UNREAD }),
  }),
  attack('Without a key - a reflection stream that is never read does not grow the server', {
    name: 'unread-reflection',
    full: { connections: 1, perConnection: 50 },
    short: { connections: 1, perConnection: 1 },
    holdMs: 60_000,
    bounds: { maxServerGrowthBytes: 100 * MIB },
    run: reflectUnread,
  }),
  attack('Without a key - a GET is answered by its headers, without the end of the request', {
    name: 'bodiless-gets',
    full: { connections: 150, perConnection: 100 },
    short: { connections: 20, perConnection: 100 },
    holdMs: 20_000,
    bounds: SERVED,
    endsBut: 0,
    run: (context) => openStreams(context, { requests: [get('/pets')], againMs: 5_000, givesUp: true }),
  }),
  attack('Without a key - health checks without a message are open for an address’s share only', {
    name: 'silent-checks',
    full: { connections: 180, perConnection: 100 },
    short: { connections: 20, perConnection: 100 },
    holdMs: 20_000,
    bounds: SERVED,
    endsBut: SHARE,
    run: (context) => openStreams(context, { requests: [grpc(`${HEALTH}/Check`)] }),
  }),
  attack('Without a key - a crowd at /healthz takes nothing from callers with a key', {
    name: 'health-crowd',
    full: { connections: 10, perConnection: 100 },
    holdMs: 15_000,
    bounds: SERVED,
    run: (context) => openStreams(context, { requests: [get('/healthz')], endStream: true, againMs: 50 }),
  }),
  // As many connections as the listener accepts, but for the bystanders', with all the streams that each may have.
  attack('Without a key - open requests on all connections take nothing from callers with a key', {
    name: 'all-streams',
    full: { connections: 9_900, perConnection: 100 },
    short: { connections: 100, perConnection: 100 },
    holdMs: 30_000,
    bounds: SERVED,
    run: (context) => openStreams(context, { requests: [get('/pets'), grpc(`${HEALTH}/Check`), grpc(LIST_PETS)] }),
  }),
  attack('With a key - 970 calls without a message leave other accounts their slots', {
    name: 'silent-calls-with-key',
    full: { connections: 10, perConnection: 97 },
    holdMs: 15_000,
    bounds: SERVED,
    hasOwnKey: true,
    run: (context) => openStreams(context, { requests: [grpc(LIST_PETS)], key: 'own' }),
  }),
  attack('Slots - the watches of one address are bounded, and all other callers are served', {
    name: 'watches',
    full: ALL_SLOTS,
    holdMs: 15_000,
    check: ({ outcomes: { total } }) => {
      const held = ALL_SLOTS.connections * ALL_SLOTS.perConnection - total;
      return held > 0 && held <= MAX_WATCHES ? [] : [`${held} were held`];
    },
    run: (context) => openStreams(context, { requests: [grpc(`${HEALTH}/Watch`)], body: grpcFrame(), endStream: true }),
  }),
  attack('Slots - calls without a key are refused by their headers, without a message', {
    name: 'silent-calls',
    full: ALL_SLOTS,
    holdMs: 60_000,
    endsBut: 0,
    run: (context) => openStreams(context, { requests: [grpc(LIST_PETS)] }),
  }),
  attack('Slots - calls with made-up keys are refused by their headers, without a message', {
    name: 'silent-calls-made-up-keys',
    full: ALL_SLOTS,
    holdMs: 60_000,
    endsBut: 0,
    run: (context) => openStreams(context, { requests: [grpc(LIST_PETS)], key: 'made up' }),
  }),
  attack('Bodies - repeated large bodies of an anonymous caller delay no other caller', {
    name: 'heavy-bodies',
    full: { connections: 12, perConnection: 0 },
    holdMs: 15_000,
    check: ({ outcomes, cpuUs }) => [
      ...only(outcomes, '401', '429'),
      ...(cpuUs > MAX_CPU_US * outcomes.total ? [`one cost ${cpuUs / outcomes.total} µs of CPU`] : []),
    ],
    run: sendHeavyBodies,
  }),
  attack('Bodies - endless bodies are refused by their headers, without waiting for their end', {
    name: 'endless-bodies',
    full: { connections: 1_100, perConnection: 1 },
    short: { connections: 300, perConnection: 1 },
    holdMs: 15_000,
    endsBut: 0,
    check: ({ outcomes }) => only(outcomes, '401', '429'),
    run: sendEndlessBodies,
  }),
  attack('Connections - one without a complete request is closed within seconds', {
    name: 'idle-connections',
    full: { connections: 9_900, perConnection: 1 },
    short: { connections: 300, perConnection: 1 },
    holdMs: 20_000,
    endsBut: 0,
    check: ({ outcomes }) => only(outcomes, 'closed'),
    run: idle,
  }),
  attack('Crowd - a request that is not served is a 503 with Retry-After, and health is right', {
    name: 'crowd',
    full: { connections: 2_000, perConnection: 1 },
    short: { connections: 400, perConnection: 1 },
    holdMs: 20_000,
    bounds: { maxShedShare: 1, isHealthRight: true },
    check: ({ outcomes }) => [
      ...only(outcomes, '200', '503'),
      ...((outcomes.counts[200] ?? 0) > 100 ? [] : ['hardly anybody was served']),
    ],
    run: comeInCrowds,
  }),
  // The last one: Envoy's allocator keeps the memory for later.
  attack('Memory - a flood of unread refusals takes no more than its bound, and all are served after it', {
    name: 'unread-refusals',
    full: { connections: 2_000, perConnection: 100 },
    short: { connections: 200, perConnection: 100 },
    holdMs: 15_000,
    // While it lasts, Envoy closes connections that send requests, whoever's they are.
    bounds: { maxShedShare: 1, mayClose: true },
    run: (context) => openStreams(context, { requests: [get('/pets')], ...UNREAD }),
  }),
];

/** The requests that ended otherwise. */
function only({ counts }: Report['outcomes'], ...expected: readonly string[]): string[] {
  const others = Object.entries(counts).filter(([outcome]) => !expected.includes(outcome));
  return others.map(([outcome, times]) => `${times} ended with ${outcome}`);
}
