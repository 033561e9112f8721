/** All attacks. The tests run each of them with callers beside it, who must be served. */
import { generateKey } from '../../../src/access/keys/format.ts';
import { type Attack, type Outcomes, total } from './attack.ts';
import {
  comeInCrowds,
  get,
  getUnread,
  grpc,
  idle,
  openStreams,
  reflectUnread,
  sendEndlessBodies,
  sendHeavyBodies,
} from './attack-runs.ts';
import type { Bounds } from './bounds.ts';
import { MIB } from './resources.ts';
import { grpcFrame } from './sockets.ts';

/** 99 % of the requests of a caller with a key are served within a second. */
const SERVED: Bounds = { maxShedShare: 0.01, maxP99Ms: 1_000 };
/** The health checks that one address may have open, of each of Envoy's threads and servers. */
const SHARE = 50;
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
    run: (context) => getUnread(context, '/docs/swagger-ui-bundle.js'),
  }),
  attack('Without a key - a reflection stream that is never read does not grow the server', {
    name: 'unread-reflection',
    full: { connections: 1, perConnection: 50 },
    short: { connections: 1, perConnection: 1 },
    holdMs: 60_000,
    bounds: { maxServerGrowthBytes: 100 * MIB },
    run: reflectUnread,
  }),
  attack('Slots - the watches and checks of one address are bounded, and all other callers are served', {
    name: 'open-health',
    full: { connections: 180, perConnection: 100 },
    short: { connections: 55, perConnection: 100 },
    holdMs: 20_000,
    bounds: SERVED,
    endsBut: 2 * SHARE,
    check: ({ unended }) => (unended > 0 ? [] : ['none was held']),
    run: (context) =>
      openStreams(context, {
        requests: [
          () => ({ fields: grpc(`${HEALTH}/Watch`), body: grpcFrame(), isWhole: true }),
          () => ({ fields: grpc(`${HEALTH}/Check`) }),
        ],
      }),
  }),
  attack('Without a key - a crowd at /healthz takes nothing from callers with a key', {
    name: 'health-crowd',
    full: { connections: 10, perConnection: 100 },
    holdMs: 15_000,
    bounds: SERVED,
    run: (context) =>
      openStreams(context, { requests: [() => ({ fields: get('/healthz'), isWhole: true })], againMs: 50 }),
  }),
  attack('Without a key - open requests, some with made-up keys, are refused by their headers', {
    name: 'open-requests',
    full: { connections: 150, perConnection: 100 },
    short: { connections: 55, perConnection: 100 },
    holdMs: 60_000,
    bounds: SERVED,
    endsBut: 0,
    run: (context) =>
      openStreams(context, {
        requests: [
          () => ({ fields: get('/pets') }),
          () => ({ fields: grpc(LIST_PETS) }),
          () => ({ fields: grpc(LIST_PETS, generateKey()) }),
        ],
      }),
  }),
  // As many connections as the listener accepts, but for the bystanders', with all the streams that each may have.
  attack('Without a key - open requests on all connections take nothing from callers with a key', {
    name: 'all-streams',
    full: { connections: 9_900, perConnection: 100 },
    short: { connections: 100, perConnection: 100 },
    holdMs: 30_000,
    bounds: SERVED,
    run: (context) =>
      openStreams(context, {
        requests: [get('/pets'), grpc(`${HEALTH}/Check`), grpc(LIST_PETS)].map((fields) => () => ({ fields })),
      }),
  }),
  attack('With a key - 970 calls without a message leave other accounts their slots', {
    name: 'silent-calls-with-key',
    full: { connections: 10, perConnection: 97 },
    holdMs: 15_000,
    bounds: SERVED,
    hasOwnKey: true,
    run: (context) =>
      openStreams(context, {
        requests: [() => ({ fields: grpc(LIST_PETS, context.key) })],
        first: get('/pets', context.key),
      }),
  }),
  attack('Bodies - repeated large bodies of an anonymous caller delay no other caller', {
    name: 'heavy-bodies',
    full: { connections: 12, perConnection: 0 },
    holdMs: 15_000,
    check: ({ outcomes, cpuUs }) => [
      ...only(outcomes, '401', '429'),
      ...(cpuUs > MAX_CPU_US * total(outcomes) ? [`one cost ${cpuUs / total(outcomes)} µs of CPU`] : []),
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
      ...((outcomes[200] ?? 0) > 100 ? [] : ['hardly anybody was served']),
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
    run: (context) => getUnread(context, '/pets'),
  }),
];

/** The requests that ended otherwise. */
function only(outcomes: Outcomes, ...expected: readonly string[]): string[] {
  const others = Object.entries(outcomes).filter(([outcome]) => !expected.includes(outcome));
  return others.map(([outcome, times]) => `${times} ended with ${outcome}`);
}
