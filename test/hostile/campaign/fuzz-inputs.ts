/** The inputs of the fuzz: malformed and ordinary requests, from a seed. */
import fc, { type Arbitrary } from 'fast-check';
import { loadOperations } from '../../../src/platform/proto/operations.ts';
import { grpcFrame } from '../../support/calls/sockets.ts';

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
  /** How an odd caller sends and reads it. */
  readonly manner?: Manner;
}

/** How an odd caller over HTTP/2 sends its request and reads the response. */
export type Manner = ReturnType<typeof manner.generate>['value'];

/** The content types of calls. */
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

/** Choices by their weights. */
const oneOf = <T>(...choices: readonly (readonly [weight: number, arbitrary: Arbitrary<T>])[]): Arbitrary<T> =>
  fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));

const latin1 = (maxLength: number) =>
  fc.uint8Array({ maxLength }).map((bytes) => Buffer.from(bytes).toString('latin1'));
/** The characters of a header's value (RFC 9110, section 5.5), bytes above ASCII included. */
const headerText = fc
  .array(fc.oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0x80, max: 0xff })), { maxLength: 60 })
  .map((codes) => String.fromCharCode(...codes).trim());

const id = fc.oneof(
  fc.integer({ min: 0, max: 60 }).map(String),
  pick(
    '-1',
    '9223372036854775807',
    '9223372036854775808',
    '1e3',
    'abc',
    '%00',
    '%2F',
    '%zz',
    '0x1',
    '١',
    ' ',
    '..',
    '',
  ),
);
const path = oneOf(
  [4, pick('/pets', '/categories', '/store/orders', '/store/inventory')],
  [4, fc.tuple(pick('/pets', '/categories', '/store/orders', '/store/inventory'), id).map((all) => all.join('/'))],
  [1, fc.array(fc.oneof(id, fc.webSegment()), { maxLength: 5 }).map((all) => `/${all.join('/')}`)],
  [1, pick('/', '/healthz', '/docs', '/openapi.json', '/docs/swagger-ui.css', '/petstore.v1.PetService/ListPets', '*')],
);
const parameter = fc.tuple(
  pick('status', 'categoryId', 'ids', 'limit', 'pageToken', 'petId', 'complete', 'x', '%00'),
  fc.oneof(id, pick('available', 'true', '%F0%9F%90%B1', '%ff', 'null')),
);
const query = oneOf(
  [5, fc.constant('')],
  [4, fc.array(parameter, { maxLength: 3 }).map((all) => `?${all.map((one) => one.join('=')).join('&')}`)],
  [1, fc.webQueryParameters().map((text_) => `?${text_}`)],
);

const authorization = oneOf(
  [6, fc.constant(`Bearer ${KEY}`)],
  [1, pick('', 'Bearer', 'Bearer  ', `bearer ${KEY}`, `Basic ${KEY}`, `Bearer ${KEY}x`, `${KEY}`)],
  [1, headerText.map((text) => `Bearer ${text}`)],
);
const headerName = pick(
  ...['accept', 'accept-encoding', 'if-match', 'if-none-match', 'idempotency-key', 'x-request-id', 'x-forwarded-for'],
  ...['grpc-timeout', 'grpc-encoding', 'grpc-status', 'x-envoy-original-path', 'x-petstore-error', 'cookie', 'range'],
  ...['x-http-method-override', 'forwarded', 'origin', 'referer', 'user-agent', 'te', 'traceparent', 'x-bin', 'x_y'],
);
const headerValue = fc.oneof(
  headerText,
  pick(...'* "x" W/"x" " 1S 1n soon gzip br;q=0 0 -1 trailers , a,b'.split(' '), 'x'.repeat(300)),
);
const header: Arbitrary<Header> = fc.tuple(headerName, headerValue);
const headers = fc
  .tuple(fc.option(authorization, { nil: undefined, freq: 8 }), fc.array(header, { maxLength: 3 }))
  .map(([value, others]): Header[] => [...(value === undefined ? [] : [['authorization', value] as const]), ...others]);

const text = fc.oneof(fc.string({ maxLength: 40 }), fc.string({ unit: 'binary', maxLength: 20 }), pick('', ' ', 'Tom'));
const number = fc.oneof(fc.integer({ min: -2, max: 60 }), fc.double(), pick(2 ** 31, 2 ** 53, -(2 ** 63), 1_000_000));
const scalar = fc.oneof(text, number, fc.boolean(), fc.constant(null));
/** Values of the fields of all request bodies, so that most bodies are nearly right. */
const FIELDS = { name: 'Tom', categoryId: 1, petId: 1, quantity: 1, description: '', status: 'sold', complete: true };
const model = fc.record(
  Object.fromEntries(Object.entries(FIELDS).map(([name, value]) => [name, mostly(fc.constant(value), scalar, 8)])),
  { requiredKeys: ['name', 'categoryId', 'quantity'] },
);
const utf8 = (value: string) => Buffer.from(value).toString('latin1');
const json = mostly(
  model.map((value) => utf8(JSON.stringify(value))),
  fc.json({ maxDepth: 3 }).map(utf8),
  12,
);
const oddBody = fc.oneof(
  fc.tuple(json, fc.nat(200), latin1(4)).map(([value, at, bytes]) => value.slice(0, at) + bytes + value.slice(at)),
  latin1(100),
  pick('', '\u00ef\u00bb\u00bf{}', '{"name":"\\u0000"}', ...'null [] "" 1 { }{ {\'name\':"x"} {name:"x"}'.split(' ')),
  fc.tuple(pick('[', '{"name":'), fc.nat(3_000)).map(([piece, depth]) => piece.repeat(depth)),
  fc.integer({ min: 60_000, max: 70_000 }).map((length) => `{"name":"${'x'.repeat(length)}"}`),
);
const body = mostly(json, oddBody, 3);
const contentType = mostly(
  pick('application/json', 'application/json; charset=utf-8'),
  fc.oneof(pick('', 'text/plain', 'application/JSON', 'multipart/form-data'), headerText),
  6,
);

const rest = fc
  .record({
    protocol: pick('HTTP/1.1' as const, 'REST' as const),
    method: mostly(
      pick('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'),
      pick('OPTIONS', 'TRACE', 'PROPFIND', 'get', 'X'),
    ),
    path: fc.tuple(path, query).map((parts) => parts.join('').replaceAll(' ', '%20')),
    own: headers,
    type: contentType,
    sent: body,
    isChunked: fc.boolean(),
  })
  .map(({ protocol, method, path: target, own, type, sent, isChunked }): FuzzInput => {
    const hasBody = !/^(GET|HEAD|DELETE)$/.test(method);
    const all = hasBody ? [...own, ['content-type', type] as const] : own;
    if (protocol === 'REST') {
      const mayBeSent = all.filter(([name]) => name !== 'te'); // RFC 9113, section 8.2.2
      return { protocol, method, path: target, headers: mayBeSent, body: hasBody ? sent : undefined };
    }
    const lines = [`${method} ${target} HTTP/1.1`, 'host: petstore', ...all.map((field) => field.join(': '))];
    const [framing, framed] = isChunked
      ? ['transfer-encoding: chunked', chunked(sent)]
      : [`content-length: ${sent.length}`, sent];
    const rest_ = hasBody ? [framing, '', framed] : ['', ''];
    return { protocol, method, bytes: [...lines, ...rest_].join('\r\n'), isWhole: true };
  });

/** RFC 9112, section 7.1. */
function chunked(text_: string): string {
  return `${text_ === '' ? '' : `${text_.length.toString(16)}\r\n${text_}\r\n`}0\r\n\r\n`;
}

const oddLine = pick(
  ...['Transfer-Encoding: chunked', 'Content-Length: 5', 'Content-Length: x', 'Expect: 100-continue', 'Host: y'],
  ...['Connection: upgrade', 'Upgrade: h2c', 'Connection: close', ' folded', 'no colon', ': empty', 'Host:'],
);
/** A request with some lines more and some bytes changed. It may be incomplete. */
const bytes = fc
  .tuple(rest, fc.array(oddLine, { maxLength: 3 }), fc.array(fc.tuple(fc.nat(400), latin1(3)), { maxLength: 3 }))
  .map(([request, lines, changes]): FuzzInput => {
    if (request.protocol !== 'HTTP/1.1') return request;
    let changed = request.bytes.replace('\r\n', ['', ...lines, ''].join('\r\n'));
    for (const [at, other] of changes) changed = changed.slice(0, at) + other + changed.slice(at + 1);
    return { protocol: 'HTTP/1.1', method: changed.split(' ', 1)[0] ?? '', bytes: changed, isWhole: false };
  });

const METHODS = [...loadOperations().byPath.keys()].filter((name) => name.startsWith('/petstore.v1.'));
const grpcPath = mostly(
  pick(...METHODS),
  pick(
    ...['/grpc.health.v1.Health/Watch', '/grpc.health.v1.Health/Check', '/', '/x', '/x/y'],
    ...['/grpc.reflection.v1.ServerReflection/ServerReflectionInfo', '/apiplatform.edge.v1.EdgeService/Fail'],
    ...['/petstore.v1.PetService/', '/petstore.v1.PetService/Nope', '/apiplatform.admin.v1.AdminService/ListAccounts'],
  ),
  9,
);

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(Math.floor(value / 0x80))];
}

/** Encoded protobuf fields, of known or unknown messages. */
const { message } = fc.letrec<{ message: number[]; field: number[]; value: readonly [number, readonly number[]] }>(
  (tie) => ({
    message: fc.array(tie('field'), { maxLength: 4 }).map((fields) => fields.flat()),
    field: fc
      .tuple(mostly(fc.integer({ min: 1, max: 9 }), fc.nat(600)), tie('value'))
      .map(([number_, [type, content]]) => [...varint(number_ * 8 + type), ...content]),
    value: fc.oneof(
      { depthIdentifier: 'message', maxDepth: 3 },
      fc.nat(2 ** 31 - 1).map((value) => [0, varint(value)] as const),
      text.map((value) => [2, [...varint(Buffer.byteLength(value)), ...Buffer.from(value)]] as const),
      tie('message').map((inner) => [2, [...varint(inner.length), ...inner]] as const),
      fc.tuple(pick(1, 3, 4, 5, 6, 7), fc.array(fc.nat(255), { maxLength: 9 })),
    ),
  }),
);

const latin1Frame = (content: Uint8Array) => grpcFrame(content).toString('latin1');
const frame = oneOf(
  [10, message.map((content) => latin1Frame(Buffer.from(content)))],
  [2, fc.uint8Array({ maxLength: 60 }).map(latin1Frame)],
  // A wrong flag or length.
  [2, fc.tuple(latin1(5), latin1(60)).map((parts) => parts.join(''))],
);
const frames = oneOf(
  [10, frame],
  [1, fc.array(frame, { maxLength: 3 }).map((all) => all.join(''))],
  [1, fc.integer({ min: 65_000, max: 66_500 }).map((length) => latin1Frame(Buffer.alloc(length)))],
);

/** A call with a framed message, which Connect sends without its frame. */
function toCall(protocol: keyof typeof TYPES, path: string, own: readonly Header[], framed: string): OverHttp2 {
  const version: Header = protocol === 'Connect' ? ['connect-protocol-version', '1'] : ['te', 'trailers'];
  const headers = [...own.filter(([name]) => name !== 'te'), ['content-type', TYPES[protocol]] as const, version];
  return { protocol, method: 'POST', path, headers, body: protocol === 'Connect' ? framed.slice(5) : framed };
}

const PROTOCOLS = Object.keys(TYPES) as (keyof typeof TYPES)[];
const call = fc
  .record({ protocol: pick(...PROTOCOLS), path: grpcPath, own: headers, body: frames })
  .map(({ protocol: spoken, path: target, own, body: sent }) => {
    // A stream does not end by itself.
    const deadline: Header[] = /\/Watch(Events)?$/.test(target) ? [['grpc-timeout', '200m']] : [];
    return toCall(spoken, target, [...own, ...deadline], sent);
  });

const AUTHORIZATION: Header = ['authorization', `Bearer ${KEY}`];
const LIST = '/petstore.v1.CategoryService/ListCategories';
/** The largest list over each protocol, which takes the most reading. */
const large = pick<OverHttp2>(
  { protocol: 'REST', method: 'GET', path: '/categories?limit=100', headers: [AUTHORIZATION], body: undefined },
  ...PROTOCOLS.map((protocol) => toCall(protocol, LIST, [AUTHORIZATION], latin1Frame(Buffer.of(8, 100)))),
);
const overHttp2 = rest.filter((request) => request.protocol !== 'HTTP/1.1');

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

const anyInput: Arbitrary<FuzzInput> = oneOf<FuzzInput>([9, rest], [3, bytes], [8, call], [3, oddly]);
