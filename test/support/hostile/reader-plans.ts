/** What random readers do: requests over every protocol, and how each is sent, read and ended. All from a seed. */
import { CategoryServiceService as Categories } from '../../../gen/petstore/v1/categories.ts';
import { PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import type { Random } from '../chaos/random.ts';
import type { TestStack } from '../stack.ts';
import type { Protocol } from './answers.ts';
import { grpcFrame } from './sockets.ts';

export interface Request {
  readonly protocol: Protocol;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Latin-1 characters, so that a plan can be printed. Undefined: none. */
  readonly body: string | undefined;
}

/** One request, and what its caller does. */
export interface Plan extends Request {
  readonly hasKey: boolean;
  /** Which share of the body is sent. 1 is all of it, and the end of the request. */
  readonly sentShare: number;
  /** How many bytes are read, every 50 ms; undefined: all at once. */
  readonly slice: number | undefined;
  /** How many bytes are read before the reader stops; undefined: all. */
  readonly stopsAfter: number | undefined;
  /** When the reader resets the request. */
  readonly giveUpMs: number;
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

const REST = {
  largest: ['GET', '/categories?limit=100'],
  small: ['GET', '/pets?ids=1'],
  write: ['POST', '/categories', '{"name":"Cats"}'],
  invalid: ['GET', '/categories?limit=0'],
  unknown: ['GET', '/nothing'],
  health: ['GET', '/healthz'],
  page: ['GET', '/docs/swagger-ui-bundle.js'],
  description: ['GET', '/openapi.json'],
} as const;

const list = (limit: number) => Categories.listCategories.requestSerialize({ limit, pageToken: '' });
const find = Pets.listPets.requestSerialize({ ids: [1n], pageToken: '' });

const CALLS = {
  largest: [Categories.listCategories.path, list(100)],
  small: [Pets.listPets.path, find],
  write: [Categories.createCategory.path, Categories.createCategory.requestSerialize({ category: { name: 'Cats' } })],
  invalid: [Categories.listCategories.path, list(1_000)],
  unknown: ['/petstore.v1.PetService/Nothing', find],
} as const;

const STREAMS = {
  ...CALLS,
  watch: [`${HEALTH}Watch`, Buffer.of()],
  check: [`${HEALTH}Check`, Buffer.of()],
  reflection: [REFLECTION, Buffer.of(0x3a, 1, 0x2a)], // ListServices
} as const;

/** `name` is that of a request above. */
export function requestOf(protocol: Protocol, name: string, deadlineMs?: number): Request {
  if (protocol === 'HTTP/1.1' || protocol === 'REST') {
    const [method, path, body] = REST[name as keyof typeof REST];
    return { protocol, method, path, body, headers: body === undefined ? {} : { 'content-type': 'application/json' } };
  }
  const [path, message] = STREAMS[name as keyof typeof STREAMS];
  const isConnect = protocol === 'Connect';
  const [timeout, unit] = isConnect ? ['connect-timeout-ms', ''] : ['grpc-timeout', 'm'];
  const headers = {
    ...(isConnect
      ? { 'content-type': 'application/proto', 'connect-protocol-version': '1' }
      : { 'content-type': protocol === 'gRPC' ? 'application/grpc' : 'application/grpc-web', te: 'trailers' }),
    ...(deadlineMs === undefined ? {} : { [timeout]: `${deadlineMs}${unit}` }),
  };
  const body = Buffer.from(isConnect ? message : grpcFrame(message)).toString('latin1');
  return { protocol, method: 'POST', path, headers, body };
}

/** Fills the store with the largest list: about 600 KB. */
export async function storeLargestList({ rest }: TestStack): Promise<void> {
  const description = '猫'.repeat(2_000);
  for (let i = 1; i <= 100; i += 1) await rest.post('/categories', { name: `Category ${i}`, description });
}

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
  const requests = isHttp1 || protocol === 'REST' ? REST : protocol === 'gRPC' ? STREAMS : CALLS;
  // From 1 ms to 20 s, as many short ones as long ones.
  const deadlineMs = random.chance(0.6) ? undefined : Math.round(20_000 ** random.next());
  return {
    ...requestOf(protocol, random.pickAny(Object.keys(requests)) ?? 'small', deadlineMs),
    hasKey: random.chance(0.8),
    sentShare: random.chance(0.8) ? 1 : random.next(),
    slice: random.chance(0.6) ? undefined : random.int(1, 20_000),
    stopsAfter: random.chance(0.7) ? undefined : random.int(0, 200_000),
    giveUpMs: random.chance(0.7) ? maxMs : random.int(0, maxMs),
  };
}

/** Whether anybody would expect a response: a complete request, which is read as it comes. */
export function isPolite({ window, opensAfterMs, dropsAfterMs }: Connection, plan: Plan, maxMs: number): boolean {
  const { sentShare, slice, stopsAfter, giveUpMs, headers, path } = plan;
  const isPatient = giveUpMs === maxMs && !('grpc-timeout' in headers || 'connect-timeout-ms' in headers);
  const isRead = slice === undefined && stopsAfter === undefined && (window >= 16_384 || opensAfterMs < 100);
  const endsByItself = !path.endsWith('/Watch');
  return sentShare === 1 && isRead && dropsAfterMs === undefined && isPatient && endsByItself;
}
