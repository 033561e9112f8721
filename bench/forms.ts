/**
 * In which forms each kind of request of the table of kinds (envoy/config/kinds.ts) can come from a caller without a
 * valid key: what the wire admits of it and makes it dear. A new kind, file or method has its forms at once.
 */
import { gzipSync } from 'node:zlib';
import { type DescMessage, fromJson, ScalarType, toBinary } from '@bufbuild/protobuf';
import { KINDS } from '../envoy/config/kinds.ts';
import { DEAR_FILES } from '../envoy/config/lua.ts';
import { FILE_PATHS } from '../envoy/config/operations.ts';
import { generateKey } from '../src/platform/access/keys/format.ts';
import { MAX_BODY_BYTES, MAX_FRAMES } from '../src/platform/config/constants.ts';
import { loadOperations } from '../src/platform/proto/operations.ts';
import { BYTES_OF_ONE } from '../src/platform/rpc/reflection.ts';
import { REQUESTS, TEXT } from '../test/envoy/requests.ts';
import { grpcFrame } from '../test/support/calls/http2.ts';
import { SERVICES } from '../test/support/contract/resources.ts';
import type { TestStack } from '../test/support/service/stack.ts';
import type { Maker, Sent } from './senders.ts';

/** The service, and values of `Authorization` for it. */
export interface Priced extends Pick<TestStack, 'rest'> {
  /** A key of each account in turn: Envoy reads the large bodies of each for 50 ms a second. */
  readonly valid: () => string;
  readonly maker: Maker;
  readonly overLimit: string;
}

export interface Form {
  /** The kind, or the operation. */
  readonly row: string;
  readonly how: string;
  /** For how many requests it counts, by the bytes of its response, once it is prepared. Default: one. */
  readonly counts?: ((bytes: number) => number) | undefined;
  /** What bounds it by account, before the work, so that it may cost more. */
  readonly boundedBy?: string;
  readonly prepare: (service: Priced) => Promise<() => Sent | Promise<Sent>>;
}

/** What a request carries, by a name for people. */
export type Loads = Readonly<Record<string, Load>>;
export type Load = Partial<Omit<Sent, 'method' | 'path'>> & {
  readonly query?: string | undefined;
  readonly counts?: Form['counts'];
};

export const JSON_TYPE = { 'content-type': 'application/json' };
export const GRPC_TYPE = { 'content-type': 'application/grpc' };

/** Members whose reading takes longest for their size. */
export const MEMBERS: Readonly<Record<string, string>> = {
  'unknown members': `"":0${',"":0'.repeat(12_000)}`,
  'different members': Array.from({ length: 6_500 }, (_, index) => `"${index}":0`).join(),
  objects: `"x":[${'{"":0},'.repeat(9_000)}0]`,
  lists: `"x":[${'[],'.repeat(21_000)}0]`,
  'deep lists': `"x":[${`${'['.repeat(90)}${']'.repeat(90)},`.repeat(350)}0]`,
  escapes: `"x":"${'\\u0041'.repeat(10_000)}"`,
  'escapes in a name': `"${'\\ud83d\\ude00'.repeat(5_300)}":0`,
  numbers: `"x":[${'0,'.repeat(32_000)}0]`,
  texts: `"x":[${'"",'.repeat(21_000)}0]`,
  digits: `"x":${'9'.repeat(65_000)}`,
};

/** Headers and queries, which any request may have. */
export const LONG: Loads = {
  'large headers': { headers: { cookie: 'x'.repeat(8_000), 'x-a': ',x'.repeat(4_000) } },
  'many headers': { headers: Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`x-${index}`, 'x'])) },
  'a long query': { query: `?${'a&'.repeat(3_500)}` },
  'a query of escapes': { query: `?${'%ff=%ff&'.repeat(1_000)}` },
  'many tags': { headers: { 'if-match': '"",'.repeat(5_000), 'if-none-match': '"",' } },
};

const json = (...pieces: readonly string[]): Load => ({
  headers: JSON_TYPE,
  body: pieces.map((text) => Buffer.from(text)),
});
/** As many frames as a body may have, each of which has a byte. */
export const MANY_FRAMES = MAX_FRAMES - 1;

const OF_REST: Loads = {
  '': {},
  ...LONG,
  '64 KB': json(`{${MEMBERS.objects}}`),
  '64 KB in chunks': json('{', `${MEMBERS.objects}}`),
  '15 KB in chunks': json('{', `"x":[${'{"":0},'.repeat(2_100)}0]}`),
  'chunks of a byte': json(...`{"x":"${'x'.repeat(1_900)}"}`),
  'frames of a byte': { ...json(...`{"x":"${'x'.repeat(MANY_FRAMES - 8)}"}`), isHttp2: true },
};

/** Beyond 1,000 fields a message is refused. */
const FIELDS = 990;

/** Unknown fields, each of which is read and ignored, and one that fills the message. */
function unknownFields(count: number, bytes: number): Buffer {
  const many = Buffer.alloc(3 * count, Buffer.of(0x98, 0x06, 0x01));
  const rest = Math.max(0, bytes - many.length - 5);
  return Buffer.concat([many, Buffer.of(0x9a, 0x06, rest | 0x80, (rest >> 7) | 0x80, rest >> 14), Buffer.alloc(rest)]);
}

/** As large as a message may be. */
export function filled(message: Uint8Array, fields = FIELDS): Buffer {
  return Buffer.concat([message, unknownFields(fields, MAX_BODY_BYTES - message.length - 8)]);
}

/** The message with unknown fields, which in a gRPC frame has as many bytes as a body may have frames. */
export function longer(message: Uint8Array): Buffer {
  return Buffer.concat([message, unknownFields(Math.floor((MANY_FRAMES - 10 - message.length) / 3), 0)]);
}

export function inFrames(bytes: Uint8Array): readonly Buffer[] {
  return Array.from(bytes, (byte) => Buffer.of(byte));
}

/** A call of gRPC with this message. */
export function ofGrpc(message: Uint8Array): Loads {
  return {
    '': { headers: GRPC_TYPE, body: [grpcFrame(message)] },
    'large headers': { headers: { ...LONG['large headers']?.headers, ...GRPC_TYPE }, body: [grpcFrame(message)] },
    '64 KB': { headers: GRPC_TYPE, body: [grpcFrame(filled(message))] },
    '64 KB of fields': { headers: GRPC_TYPE, body: [grpcFrame(filled(message, 21_000))] },
    'frames of a byte': { headers: GRPC_TYPE, body: inFrames(grpcFrame(longer(message))) },
    compressed: {
      headers: { 'grpc-encoding': 'gzip', ...GRPC_TYPE },
      body: [grpcFrame(gzipSync(filled(message)), true)],
    },
  };
}

const OF_CONNECT: Loads = {
  ...LONG,
  '64 KB': { body: [filled(Buffer.of())] },
  'chunks of a byte': OF_REST['chunks of a byte'] ?? {},
  'frames of a byte': { body: inFrames(longer(Buffer.of())), isHttp2: true },
};

interface Kind {
  readonly row: string;
  readonly request: string;
  readonly isOpen: boolean;
  readonly loads: Loads;
}

const OPEN = KINDS.find(({ judge, errors }) => judge === 'nobody' && errors === 'grpc');

/** A file is a row of its own, and so is each method that needs no key. */
const KEYLESS: readonly Kind[] = [
  ...REQUESTS.map(({ row, request, headers = {}, open, isGrpc }) => {
    const loads = isGrpc ? ofGrpc(Buffer.of()) : row === 'Connect' ? OF_CONNECT : OF_REST;
    const own = Object.entries(loads).map(([name, load]) => [
      name,
      encoded({ ...load, headers: { ...load.headers, ...headers } }),
    ]);
    return { row, request, isOpen: open !== undefined, loads: Object.fromEntries(own) };
  }),
  ...FILE_PATHS.flatMap((path) => {
    const loads = { '': { counts: () => DEAR_FILES[path] ?? 1 } };
    return ['GET', 'HEAD'].map((method) => ({
      row: `file ${path}`,
      request: `${method} ${path}`,
      isOpen: true,
      loads,
    }));
  }),
  ...[...loadOperations().byPath.values()].flatMap(({ path, input, isStream }) => {
    if (!OPEN?.matches.some(({ prefix }) => path.startsWith(String(prefix)))) return [];
    return questions(input).map((question, index) => {
      const ten = { headers: GRPC_TYPE, body: Array.from({ length: 10 }, () => grpcFrame(question)) };
      const loads: Loads = { ...ofGrpc(question), ...(isStream ? { 'ten of them': ten } : {}) };
      const ended = Object.entries(loads).map(([name, load]) => {
        const counts = (bytes: number) => Math.max(load === ten ? 10 : 1, Math.ceil(bytes / BYTES_OF_ONE));
        return [`question ${index} ${name}`, { ...load, giveUpMs: 200, counts }];
      });
      return { row: `${OPEN.name} ${path}`, request: `POST ${path}`, isOpen: true, loads: Object.fromEntries(ended) };
    });
  }),
];

/** Base64, for gRPC-Web in text. */
function encoded(load: Load): Load {
  if (load.headers?.['content-type'] !== TEXT) return load;
  return {
    ...load,
    body: [
      Buffer.from(
        Buffer.concat(load.body ?? [])
          .toString('base64')
          .slice(0, 65_000),
      ),
    ],
  };
}

/** Messages that ask for what exists: by each text field, and none. */
function questions(input: DescMessage): Uint8Array[] {
  const [service = ''] = SERVICES;
  const names = [service, loadOperations().registry.getService(service)?.file.proto.name ?? ''];
  const texts = input.fields.filter(({ scalar }) => scalar === ScalarType.STRING);
  const asked = texts.flatMap(({ jsonName }) =>
    names.map((name) => toBinary(input, fromJson(input, { [jsonName]: name }))),
  );
  return [Buffer.of(), ...asked];
}

/** Who has no valid key, by `Authorization`. */
const CALLERS: Readonly<Record<string, (service: Priced) => string | undefined>> = {
  '': () => undefined,
  'an invented key': () => `Bearer ${generateKey()}`,
  'a key over its limit': ({ overLimit }) => overLimit,
};

export const KEYLESS_FORMS: readonly Form[] = KEYLESS.flatMap(({ row, request, isOpen, loads }) =>
  Object.entries(CALLERS).flatMap(([caller, authorize]) =>
    Object.entries(isOpen && caller !== '' ? {} : loads).map(([name, { query = '', counts, headers, ...load }]) => {
      const [method = '', path = ''] = request.split(' ');
      const prepare: Form['prepare'] = async (service) => () => {
        const authorization = authorize(service);
        return {
          method,
          path: path + query,
          headers: { ...headers, ...(authorization && { authorization }) },
          ...load,
        };
      };
      return { row, how: [request, caller, name].filter(Boolean).join(', '), counts, prepare };
    }),
  ),
);
