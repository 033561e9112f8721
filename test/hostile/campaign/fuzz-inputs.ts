/** The inputs of the fuzz, from a seed: valid requests over each protocol, with some pieces of them spoilt. */
import { type DescMessage, fromJson, type JsonObject, toBinary } from '@bufbuild/protobuf';
import fc, { type Arbitrary } from 'fast-check';
import { loadOperations, type Operation } from '../../../src/platform/proto/operations.ts';
import { grpcFrame } from '../../support/calls/http2.ts';
import { fill, PUBLIC } from '../../support/contract/resources.ts';

/** Stands for a valid key, since keys differ from run to run and inputs must not. */
export const KEY = '{key}';

export type Header = readonly [name: string, value: string];

/** Bodies and bytes are strings of Latin-1 characters, so that an input can be printed. */
export type FuzzInput = OverHttp1 | OverHttp2;

export interface OverHttp1 {
  readonly protocol: 'HTTP/1.1';
  readonly method: string;
  readonly bytes: string;
  /** Otherwise some bytes are changed, and there may be no response. */
  readonly isWhole: boolean;
}

export interface OverHttp2 {
  readonly protocol: 'REST' | keyof typeof TYPES;
  readonly method: string;
  readonly path: string;
  readonly headers: readonly Header[];
  readonly body: string | undefined;
  readonly manner?: Manner;
}

/** How an odd caller over HTTP/2 sends its request and reads the response. */
export type Manner = ReturnType<typeof manner.generate>['value'];

const TYPES = { gRPC: 'application/grpc', 'gRPC-Web': 'application/grpc-web', Connect: 'application/proto' } as const;

/** The input with this index, of the endless sequence of this seed. */
export function fuzzInput(seed: number, index: number): FuzzInput {
  const own = Math.imul(seed, 0x9e3779b1) + index; // the next seed has other inputs
  const [input] = fc.sample(anyInput, { numRuns: 1, seed: own });
  if (input === undefined) throw new Error('fast-check made nothing');
  return input;
}

const pick = <T>(...values: readonly T[]) => fc.constantFrom(...values);
/** Mostly the usual value, sometimes another. */
const mostly = <T>(usual: Arbitrary<T>, odd: Arbitrary<T>, weight = 4) =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: odd });

const utf8 = (text: string) => Buffer.from(text).toString('latin1');
const latin1 = (maxLength: number) =>
  fc.uint8Array({ maxLength }).map((bytes) => Buffer.from(bytes).toString('latin1'));
const NONE = fc.constant<never[]>([]);
/** Of a body that is larger than most. */
const oddSize = mostly(fc.constant(undefined), fc.integer({ min: 60_000, max: 70_000 }), 40);

const odd = fc.oneof(
  latin1(4),
  fc.string({ unit: 'binary', maxLength: 20 }).map(utf8),
  fc.integer({ min: -2, max: 60 }).map(String),
  pick(
    ...'%00 %2F %zz %ff .. 0x1 1e3 1.5 9223372036854775808 null true { [ " , ; * W/ gzip soon 1n'.split(' '),
    ...['', ' ', '\r\n', '\\u0000', '\u00ef\u00bb\u00bf', 'x'.repeat(300), '['.repeat(2_000), '{"a":'.repeat(2_000)],
  ),
);
/** Parts of a text that become odd: mostly none. */
const changes = mostly(NONE, fc.array(fc.tuple(fc.nat(), fc.nat(9), odd), { minLength: 1, maxLength: 3 }));

function changed(text: string, all: readonly (readonly [at: number, length: number, by: string])[]): string {
  return all.reduce((before, [at, length, by]) => {
    const start = at % (before.length + 1);
    return before.slice(0, start) + by + before.slice(start + length);
  }, text);
}

/** What a header's value can have (RFC 9110, section 5.5), bytes above ASCII included. */
const asHeader = (text: string) => text.replace(/[^\x20-\x7e\x80-\xff]/g, '').trim();
const asPath = (text: string) => asHeader(text).replaceAll(' ', '%20');

const id = fc.integer({ min: 1, max: 60 });
const VALUES = {
  ...{ petId: id, categoryId: id, orderId: id, ids: id, after: id, limit: id, name: fc.constant('Tom') },
  ...{ description: fc.constant(''), quantity: id, status: fc.constant('sold'), complete: fc.boolean() },
  service: fc.constant('petstore.v1.PetService'),
};
type Values = Readonly<Record<string, JsonObject[string]>>;
const values: Arbitrary<Values> = fc.record(VALUES);
const authorization = mostly(
  fc.constant<string | undefined>(`Bearer ${KEY}`),
  pick(undefined, undefined, '', 'Bearer', 'Bearer  ', `bearer ${KEY}`, `Basic ${KEY}`, `Bearer ${KEY}x`, KEY),
  8,
);
const NAMES = [
  ...['accept', 'accept-encoding', 'if-match', 'if-none-match', 'idempotency-key', 'x-request-id', 'x-forwarded-for'],
  ...['grpc-timeout', 'grpc-encoding', 'grpc-status', 'x-envoy-original-path', 'x-petstore-error', 'cookie', 'range'],
  ...['x-http-method-override', 'forwarded', 'origin', 'referer', 'user-agent', 'te', 'traceparent', 'x-bin', 'x_y'],
];
const headers = fc
  .tuple(authorization, fc.array(fc.tuple(pick(...NAMES), fc.oneof(odd, latin1(60)).map(asHeader)), { maxLength: 3 }))
  .map(([value, others]): Header[] => [...(value === undefined ? [] : [['authorization', value] as const]), ...others]);

function fieldsOf({ fields }: DescMessage, all: Values): JsonObject {
  return Object.fromEntries(
    fields.flatMap(({ jsonName, fieldKind, message }) => {
      const value = all[jsonName];
      if (value !== undefined) return [[jsonName, fieldKind === 'list' ? [value] : value]];
      const isOurs = fieldKind === 'message' && !message?.typeName.startsWith('google.');
      return isOurs && message ? [[jsonName, fieldsOf(message, all)]] : [];
    }),
  );
}

/** A call with a framed message, which Connect sends without its frame. */
function toCall(protocol: keyof typeof TYPES, path: string, own: readonly Header[], framed: string): OverHttp2 {
  const version: Header = protocol === 'Connect' ? ['connect-protocol-version', '1'] : ['te', 'trailers'];
  const headers = [...own.filter(([name]) => name !== 'te'), ['content-type', TYPES[protocol]] as const, version];
  return { protocol, method: 'POST', path, headers, body: protocol === 'Connect' ? framed.slice(5) : framed };
}

const PROTOCOLS = Object.keys(TYPES) as (keyof typeof TYPES)[];
const OTHERS = [...loadOperations().byPath.values()].filter(({ path }) => PUBLIC.every((one) => one.path !== path));
const frameOf = (message: Uint8Array) => grpcFrame(message).toString('latin1');

const call = fc
  .record({
    protocol: pick(...PROTOCOLS),
    operation: mostly(pick<Operation>(...PUBLIC), pick(...OTHERS), 9),
    values,
    inPath: mostly(NONE, changes),
    inMessage: changes,
    inFrame: mostly(NONE, changes),
    count: mostly(fc.constant(1), fc.nat(3), 9),
    size: oddSize,
    own: headers,
  })
  .map(({ protocol, operation, values, inPath, inMessage, inFrame, count, size, own }) => {
    const { path, input } = operation;
    const message = Buffer.from(
      toBinary(input, fromJson(input, OTHERS.includes(operation) ? {} : fieldsOf(input, values))),
    ).toString('latin1');
    const sent = size === undefined ? Buffer.from(changed(message, inMessage), 'latin1') : Buffer.alloc(size);
    // A stream does not end by itself.
    const deadline: Header[] = /\/Watch(Events)?$/.test(path) ? [['grpc-timeout', '200m']] : [];
    const framed = changed(frameOf(sent), inFrame).repeat(count);
    return toCall(protocol, asPath(changed(path, inPath)), [...own, ...deadline], framed);
  });

const rest = fc
  .record({
    operation: pick(...PUBLIC.filter(({ isStream }) => !isStream)),
    oddMethod: mostly(fc.constant(undefined), pick('OPTIONS', 'TRACE', 'PROPFIND', 'HEAD', 'get', 'X', 'PUT'), 6),
    oddPath: mostly(fc.constant(undefined), pick('/', '/healthz', '/docs', '/docs/swagger-ui.css', '*'), 15),
    values,
    query: fc.array(fc.nat(), { maxLength: 2 }),
    inPath: changes,
    inBody: changes,
    size: oddSize,
    type: mostly(pick('application/json', 'application/json; charset=utf-8'), pick('', 'text/plain', 'x'), 8),
    own: headers,
  })
  .map(({ operation, oddMethod, oddPath, values, query, inPath, inBody, size, type, own }): OverHttp2 => {
    const method = oddMethod ?? operation.method;
    const names = [...operation.queryParameters.keys()];
    const asked = query.flatMap((index) => names[index % names.length] ?? []).map((name) => `${name}=${values[name]}`);
    const whole = fill(operation.template, values) + (asked.length > 0 ? `?${asked.join('&')}` : '');
    const path = oddPath ?? asPath(changed(whole, inPath));
    if (/^(GET|HEAD|DELETE)$/.test(method)) return { protocol: 'REST', method, path, headers: own, body: undefined };
    const sent = size === undefined ? values : { name: 'x'.repeat(size) };
    const body = changed(JSON.stringify(sent), inBody);
    return { protocol: 'REST', method, path, headers: [...own, ['content-type', type]], body };
  });
const overHttp2 = rest.map((request) => {
  // RFC 9113, section 8.2.2.
  return { ...request, headers: request.headers.filter(([name]) => name !== 'te') };
});

const oddLine = pick(
  ...['Transfer-Encoding: chunked', 'Content-Length: 5', 'Content-Length: x', 'Expect: 100-continue', 'Host: y'],
  ...['Connection: upgrade', 'Upgrade: h2c', 'Connection: close', ' folded', 'no colon', ': empty', 'Host:'],
);
/** With some lines more, or some bytes changed, it may be incomplete. */
const overHttp1 = fc
  .tuple(rest, fc.boolean(), mostly(NONE, fc.array(oddLine, { maxLength: 3 }), 3), mostly(NONE, changes, 2))
  .map(([{ method, path, headers, body = '' }, isChunked, oddLines, spoilt]): OverHttp1 => {
    const chunk = body === '' ? '' : `${body.length.toString(16)}\r\n${body}\r\n`; // RFC 9112, section 7.1
    const lines = [
      `${method} ${path} HTTP/1.1`,
      'host: petstore',
      ...oddLines,
      ...headers.map((one) => one.join(': ')),
    ];
    lines.push(
      ...(isChunked
        ? ['transfer-encoding: chunked', '', `${chunk}0`, '', '']
        : [`content-length: ${body.length}`, '', body]),
    );
    const bytes = changed(lines.join('\r\n'), spoilt);
    return { protocol: 'HTTP/1.1', method, bytes, isWhole: oddLines.length === 0 && spoilt.length === 0 };
  });

const AUTHORIZATION: Header = ['authorization', `Bearer ${KEY}`];
const LIST = '/petstore.v1.CategoryService/ListCategories';
/** The largest list over each protocol, which takes the most reading. */
const large = pick<OverHttp2>(
  { protocol: 'REST', method: 'GET', path: '/categories?limit=100', headers: [AUTHORIZATION], body: undefined },
  ...PROTOCOLS.map((protocol) => toCall(protocol, LIST, [AUTHORIZATION], frameOf(Buffer.of(8, 100)))),
);
/** The longest time of a caller who reads oddly. */
const MAX_MS = 4_000;
const sometimes = <T>(odd: Arbitrary<T>) => fc.option(odd, { nil: undefined, freq: 1 });

const manner = fc.record({
  /** The window of the stream, and when it becomes an ordinary one. */
  window: fc.constantFrom(0, 0, 1, 100, 1_000, 16_384, 65_535, 65_535, 1_048_576),
  opensAfterMs: fc.nat(MAX_MS / 2),
  /** Which share of the body is sent. 1 is all of it, and the end of the request. */
  sentShare: mostly(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
  /** How many bytes are read, every 50 ms; undefined: all as they come. */
  slice: sometimes(fc.integer({ min: 1, max: 20_000 })),
  /** How many bytes are read before the caller stops; undefined: all. */
  stopsAfter: sometimes(fc.nat(200_000)),
  /** When the caller leaves: it resets the request, or drops the connection. */
  giveUpMs: mostly(fc.constant(MAX_MS), fc.nat(MAX_MS)),
  drops: mostly(fc.constant(false), fc.constant(true)),
  /** The deadline of a call: from 1 ms to 20 s, as many short ones as long ones. */
  deadlineMs: sometimes(fc.double({ min: 0, max: 1, noNaN: true }).map((power) => Math.round(20_000 ** power))),
});

const oddly = fc.tuple(fc.oneof(large, call, overHttp2), manner).map(([request, how]): FuzzInput => {
  const [name, unit] = request.protocol === 'Connect' ? ['connect-timeout-ms', ''] : ['grpc-timeout', 'm'];
  const deadline: Header[] = how.deadlineMs === undefined ? [] : [[name, `${how.deadlineMs}${unit}`]];
  return { ...request, headers: [...request.headers, ...deadline], manner: how };
});

const anyInput: Arbitrary<FuzzInput> = fc.oneof(
  { weight: 8, arbitrary: overHttp1 },
  { weight: 4, arbitrary: overHttp2 },
  { weight: 8, arbitrary: call },
  { weight: 3, arbitrary: oddly },
);
