/** Requests over every protocol whose responses are worth reading oddly, large ones and streams, and how to do so. */
import fc, { type Arbitrary } from 'fast-check';
import { CategoryServiceService as Categories } from '../../../gen/petstore/v1/categories.ts';
import { PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import type { TestStack } from '../stack.ts';
import { grpcFrame } from './sockets.ts';

export interface Http2Request {
  readonly protocol: 'REST' | 'gRPC' | 'gRPC-Web' | 'Connect';
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Latin-1 characters, so that a request can be printed. Undefined: none. */
  readonly body: string | undefined;
}

const REST = {
  largest: ['GET', '/categories?limit=100'],
  small: ['GET', '/pets?ids=1'],
  write: ['POST', '/categories', '{"name":"Cats"}'],
  page: ['GET', '/docs/swagger-ui-bundle.js'],
  description: ['GET', '/openapi.json'],
} as const;

const CALLS = {
  largest: [Categories.listCategories.path, Categories.listCategories.requestSerialize({ limit: 100, pageToken: '' })],
  small: [Pets.listPets.path, Pets.listPets.requestSerialize({ ids: [1n], pageToken: '' })],
  write: [Categories.createCategory.path, Categories.createCategory.requestSerialize({ category: { name: 'Cats' } })],
} as const;

const STREAMS = {
  watch: ['/grpc.health.v1.Health/Watch', Buffer.of()],
  check: ['/grpc.health.v1.Health/Check', Buffer.of()],
  reflection: ['/grpc.reflection.v1.ServerReflection/ServerReflectionInfo', Buffer.of(0x3a, 1, 0x2a)], // ListServices
} as const;

export function restRequest(name: keyof typeof REST): Http2Request {
  const [method, path, body] = REST[name];
  const headers = body === undefined ? {} : { 'content-type': 'application/json' };
  return { protocol: 'REST', method, path, body, headers };
}

export function callRequest(
  protocol: Exclude<Http2Request['protocol'], 'REST'>,
  name: keyof typeof CALLS | keyof typeof STREAMS,
  deadlineMs?: number,
): Http2Request {
  const [path, message] = { ...CALLS, ...STREAMS }[name];
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

export interface Manner {
  /** The window of the stream, and when it becomes an ordinary one. */
  readonly window: number;
  readonly opensAfterMs: number;
  /** Which share of the body is sent. 1 is all of it, and the end of the request. */
  readonly sentShare: number;
  /** How many bytes are read, every 50 ms; undefined: all as they come. */
  readonly slice: number | undefined;
  /** How many bytes are read before the caller stops; undefined: all. */
  readonly stopsAfter: number | undefined;
  /** When the caller leaves: it resets the request, or drops the connection. */
  readonly giveUpMs: number;
  readonly drops: boolean;
}

/** All requests. Calls have this deadline. */
function allRequests(deadlineMs?: number): Http2Request[] {
  const calls = Object.keys(CALLS) as (keyof typeof CALLS)[];
  const streams = Object.keys(STREAMS) as (keyof typeof STREAMS)[];
  return [
    ...(Object.keys(REST) as (keyof typeof REST)[]).map(restRequest),
    ...(['gRPC', 'gRPC-Web', 'Connect'] as const).flatMap((one) =>
      calls.map((name) => callRequest(one, name, deadlineMs)),
    ),
    ...streams.map((name) => callRequest('gRPC', name, deadlineMs)),
  ];
}

/** The longest time of a caller who reads oddly. */
const MAX_MS = 4_000;
const mostly = <T>(usual: T, odd: Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: odd });
const sometimes = <T>(odd: Arbitrary<T>) => fc.option(odd, { nil: undefined, freq: 1 });
const manner: Arbitrary<Manner> = fc.record({
  window: fc.constantFrom(0, 0, 1, 100, 1_000, 16_384, 65_535, 65_535, 1_048_576),
  opensAfterMs: fc.nat(MAX_MS / 2),
  sentShare: mostly(1, fc.double({ min: 0, max: 1, noNaN: true })),
  slice: sometimes(fc.integer({ min: 1, max: 20_000 })),
  stopsAfter: sometimes(fc.nat(200_000)),
  giveUpMs: mostly(MAX_MS, fc.nat(MAX_MS)),
  drops: mostly(false, fc.constant(true)),
});
// From 1 ms to 20 s, as many short ones as long ones.
const deadlineMs = fc.double({ min: 0, max: 1, noNaN: true }).map((power) => Math.round(20_000 ** power));
/** One of the requests, and what its caller does. */
export const oddRequest = fc
  .tuple(sometimes(deadlineMs), fc.nat(), manner)
  .map(([ms, which, how]): Http2Request & { readonly manner: Manner } => {
    const all = allRequests(ms);
    return { ...(all[which % all.length] ?? restRequest('small')), manner: how };
  });

/** Fills the store with the largest list: about 600 KB. */
export async function storeLargestList({ rest }: TestStack): Promise<void> {
  const description = '猫'.repeat(2_000);
  for (let i = 1; i <= 100; i += 1) await rest.post('/categories', { name: `Category ${i}`, description });
}
