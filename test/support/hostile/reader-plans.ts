/** What random readers do: requests over every protocol, and how each is sent, read and ended. All from a seed. */
import { CategoryServiceService as Categories } from '../../../gen/petstore/v1/categories.ts';
import { PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import type { Random } from '../chaos/random.ts';
import type { Protocol } from './answers.ts';
import { grpcFrame } from './sockets.ts';

/** One request. */
export interface Plan {
  readonly protocol: Protocol;
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Latin-1 characters, so that a plan can be printed. Undefined: none. */
  readonly body: string | undefined;
  readonly hasKey: boolean;
  /** Which share of the body is sent. 1 is all of it, and the end of the request. */
  readonly sentShare: number;
  /** How many bytes are read, every 50 ms; undefined: all at once. */
  readonly slice: number | undefined;
  /** How many bytes are read before the reader stops; undefined: all. */
  readonly stopsAfter: number | undefined;
  /** When the reader resets the request. A reader who waits gives up then. */
  readonly endsAfterMs: number;
  readonly waits: boolean;
}

/** A connection and its requests. */
export interface Connection {
  /** The HTTP/2 window of each stream. */
  readonly window: number;
  /** When the window becomes an ordinary one. */
  readonly opensAfterMs: number;
  /** When the connection is dropped; undefined: when its requests have ended. */
  readonly dropsAfterMs: number | undefined;
  readonly plans: readonly Plan[];
}

const HEALTH = '/grpc.health.v1.Health/';
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
const LIST_SERVICES = Buffer.from([0x3a, 1, 0x2a]);

const lists = (limit: number) => Categories.listCategories.requestSerialize({ limit, pageToken: '' });
const creates = () => Categories.createCategory.requestSerialize({ category: { name: 'Cats' } });
const finds = () => Pets.listPets.requestSerialize({ ids: [1n], pageToken: '' });

const REST: Readonly<Record<string, readonly [method: string, path: string, body?: string]>> = {
  largest: ['GET', '/categories?limit=100'],
  small: ['GET', '/pets?ids=1'],
  write: ['POST', '/categories', '{"name":"Cats"}'],
  invalid: ['GET', '/categories?limit=0'],
  unknown: ['GET', '/nothing'],
  health: ['GET', '/healthz'],
  page: ['GET', '/docs/swagger-ui-bundle.js'],
  description: ['GET', '/openapi.json'],
};

const CALLS: Readonly<Record<string, readonly [path: string, message: () => Uint8Array]>> = {
  largest: [Categories.listCategories.path, () => lists(100)],
  small: [Pets.listPets.path, finds],
  write: [Categories.createCategory.path, creates],
  invalid: [Categories.listCategories.path, () => lists(1_000)],
  unknown: ['/petstore.v1.PetService/Nothing', finds],
};

const STREAMS: typeof CALLS = {
  ...CALLS,
  watch: [`${HEALTH}Watch`, () => Buffer.alloc(0)],
  check: [`${HEALTH}Check`, () => Buffer.alloc(0)],
  reflection: [REFLECTION, () => LIST_SERVICES],
};

const CONTENT_TYPES = { gRPC: 'application/grpc', 'gRPC-Web': 'application/grpc-web', Connect: 'application/proto' };
const WINDOWS = [0, 0, 1, 100, 1_000, 16_384, 65_535, 65_535, 1_048_576] as const;

/** The next connection. None of its requests lasts longer than `maxMs`. */
export function nextConnection(random: Random, maxMs: number): Connection {
  const isHttp1 = random.chance(0.2);
  return {
    window: random.pick(WINDOWS),
    opensAfterMs: random.int(0, maxMs / 2),
    dropsAfterMs: random.chance(0.15) ? random.int(0, maxMs) : undefined,
    plans: Array.from({ length: isHttp1 ? 1 : random.int(1, 6) }, () => nextPlan(random, isHttp1, maxMs)),
  };
}

function nextPlan(random: Random, isHttp1: boolean, maxMs: number): Plan {
  const protocol = isHttp1 ? 'HTTP/1.1' : random.pick<Protocol>(['REST', 'gRPC', 'gRPC-Web', 'Connect']);
  const waits = random.chance(0.7);
  return {
    protocol,
    ...nextRequest(random, protocol),
    hasKey: random.chance(0.8),
    sentShare: random.chance(0.8) ? 1 : random.next(),
    slice: random.chance(0.6) ? undefined : random.int(1, 20_000),
    stopsAfter: random.chance(0.7) ? undefined : random.int(0, 200_000),
    waits,
    endsAfterMs: waits ? maxMs : random.int(0, maxMs),
  };
}

function nextRequest(random: Random, protocol: Protocol): Pick<Plan, 'path' | 'method' | 'headers' | 'body'> {
  if (protocol === 'HTTP/1.1' || protocol === 'REST') {
    const [method, path, body] = random.pickAny(Object.values(REST)) ?? ['GET', '/'];
    return { method, path, body, headers: body === undefined ? {} : { 'content-type': 'application/json' } };
  }
  const [path, message] = random.pickAny(Object.values(protocol === 'gRPC' ? STREAMS : CALLS)) ?? ['/', finds];
  const isConnect = protocol === 'Connect';
  const bytes = isConnect ? Buffer.from(message()) : grpcFrame(message());
  // From 1 ms to 20 s, as many short ones as long ones.
  const deadlineMs = random.chance(0.6) ? undefined : Math.round(20_000 ** random.next());
  const headers = {
    'content-type': CONTENT_TYPES[protocol],
    ...(isConnect ? { 'connect-protocol-version': '1' } : { te: 'trailers' }),
    ...(deadlineMs === undefined
      ? {}
      : isConnect
        ? { 'connect-timeout-ms': String(deadlineMs) }
        : { 'grpc-timeout': `${deadlineMs}m` }),
  };
  return { method: 'POST', path, headers, body: bytes.toString('latin1') };
}

/** Whether anybody would expect a response: a complete request, which is read as it comes. */
export function isPolite({ window, opensAfterMs, dropsAfterMs }: Connection, plan: Plan): boolean {
  const { sentShare, slice, stopsAfter, waits, headers, path } = plan;
  const isPatient = !('grpc-timeout' in headers || 'connect-timeout-ms' in headers);
  const isRead = slice === undefined && stopsAfter === undefined && (window >= 16_384 || opensAfterMs < 100);
  const endsByItself = !path.endsWith('/Watch');
  return sentShare === 1 && isRead && waits && dropsAfterMs === undefined && isPatient && endsByItself;
}
