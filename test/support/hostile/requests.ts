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

/** The large list, a small one, a write, and two files. */
const REST: readonly Http2Request[] = [
  ...['/categories?limit=100', '/pets?ids=1', '/docs/swagger-ui-bundle.js', '/openapi.json'].map((path) => ({
    ...{ protocol: 'REST' as const, method: 'GET', path },
    ...{ headers: {}, body: undefined },
  })),
  {
    ...{ protocol: 'REST', method: 'POST', path: '/categories' },
    ...{ headers: { 'content-type': 'application/json' }, body: '{"name":"Cats"}' },
  },
];

/** The same calls, with their messages. */
const CALLS: readonly (readonly [path: string, message: Buffer])[] = [
  [Categories.listCategories.path, Categories.listCategories.requestSerialize({ limit: 100, pageToken: '' })],
  [Pets.listPets.path, Pets.listPets.requestSerialize({ ids: [1n], pageToken: '' })],
  [Categories.createCategory.path, Categories.createCategory.requestSerialize({ category: { name: 'Cats' } })],
];
const STREAMS: typeof CALLS = [
  ['/grpc.health.v1.Health/Watch', Buffer.of()],
  ['/grpc.health.v1.Health/Check', Buffer.of()],
  ['/grpc.reflection.v1.ServerReflection/ServerReflectionInfo', Buffer.of(0x3a, 1, 0x2a)], // ListServices
];
const TYPES = { gRPC: 'application/grpc', 'gRPC-Web': 'application/grpc-web', Connect: 'application/proto' } as const;

/** All requests. Calls have this deadline. */
function allRequests(deadlineMs?: number): Http2Request[] {
  const call = (protocol: keyof typeof TYPES, [path, message]: (typeof CALLS)[number]): Http2Request => {
    const isConnect = protocol === 'Connect';
    const [timeout, unit] = isConnect ? ['connect-timeout-ms', ''] : ['grpc-timeout', 'm'];
    const headers = {
      'content-type': TYPES[protocol],
      ...(isConnect ? { 'connect-protocol-version': '1' } : { te: 'trailers' }),
      ...(deadlineMs === undefined ? {} : { [timeout]: `${deadlineMs}${unit}` }),
    };
    const body = (isConnect ? message : grpcFrame(message)).toString('latin1');
    return { protocol, method: 'POST', path, headers, body };
  };
  const protocols = Object.keys(TYPES) as (keyof typeof TYPES)[];
  return [
    ...REST,
    ...protocols.flatMap((protocol) => CALLS.map((one) => call(protocol, one))),
    ...STREAMS.map((one) => call('gRPC', one)),
  ];
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
    return { ...(all[which % all.length] as Http2Request), manner: how };
  });

/** Fills the store with the largest list: about 600 KB. */
export async function storeLargestList({ rest }: TestStack): Promise<void> {
  const description = '猫'.repeat(2_000);
  for (let i = 1; i <= 100; i += 1) await rest.post('/categories', { name: `Category ${i}`, description });
}
