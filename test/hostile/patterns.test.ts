/**
 * Texts on which a pattern could go back and forth: one piece again and again, in each place that a caller fills, on
 * both ports. The time for such a pattern is the square or the cube of the length, and nobody else is served meanwhile.
 * `npm test` tries a share of the texts in each place, `npm run test:hostile` all.
 */
import { readFileSync } from 'node:fs';
import type { OutgoingHttpHeaders } from 'node:http2';
import { type DescField, type DescMessage, fromJson, type JsonValue, ScalarType, toBinary } from '@bufbuild/protobuf';
import { operatorKeyFile } from '../../src/platform/access/keys/key-files.ts';
import { loadOperations } from '../../src/platform/proto/operations.ts';
import { exchange, grpcFrame, grpcHeaders, openSession } from '../support/calls/http2.ts';
import { cpuTimeUs } from '../support/machine/cpu-time.ts';
import { hostileTest, isFull, pidsOf, SEED } from './campaign/service.ts';

const test = hostileTest();

/** Envoy takes 24 KiB of headers, the private port 8. */
const IN_HEADERS = 22_000;
const IN_PRIVATE_HEADERS = 7_500;
const IN_BODY = 65_000;
/** A request like these takes a few milliseconds. */
const MAX_CPU_MS = 100;

const PIECES = [...' \t;,10.e-/=a"[%@:_', ';q=0', '%61', '\\u0031', '{"a":', 'a.', '0 ', '猫', '\u3000'];
const STARTS = ['', '1'];
const ENDS = ['x', '!\n'];
/** Of each place `npm test` tries so many texts. */
const SHARE = 4;
const TEXTS = PIECES.flatMap((piece) => STARTS.flatMap((start) => ENDS.map((end) => ({ start, piece, end }))));

const HEADERS = [
  ...['accept', 'accept-encoding', 'authorization', 'connect-timeout-ms', 'content-type', 'grpc-timeout'],
  ...['idempotency-key', 'if-match', 'if-none-match', 'last-event-id', 'user-agent', 'x-forwarded-for'],
  ...['grpc-encoding', 'x-request-id', 'traceparent', ':authority', 'origin', 'cookie'],
];
const TYPES = ['application/json', 'application/grpc', 'application/grpc-web', 'application/proto'];
const LIST = '/petstore.v1.PetService/ListPets';

/** A request with a text in one place. */
interface Place {
  readonly bytes: number;
  readonly isPrivate?: boolean;
  readonly fill: (text: string) => { readonly headers: OutgoingHttpHeaders; readonly body?: string | Uint8Array };
}

const get = (path: string) => ({ ':method': 'GET', ':path': path });
const post = (path: string, type: string) => ({ ':method': 'POST', ':path': path, 'content-type': type });
/** A header can't have the end of a line, and has bytes. */
const inHeader = (text: string) => Buffer.from(text.trim().replace('\n', '')).toString('latin1');

const paths = ['/', '/pets/', '/docs/', '/pets?limit=', '/pets?', '/pets?status=', '/events/stream?types=', LIST];
const inPaths = paths.map((start): Place => {
  return { bytes: IN_HEADERS, fill: (text) => ({ headers: get(start + encodeURI(text)) }) };
});
const inHeaders = (more: OutgoingHttpHeaders, isPrivate = false) =>
  HEADERS.map((name): Place => {
    const body = more[':method'] === 'POST' ? { body: '' } : {};
    const bytes = isPrivate ? IN_PRIVATE_HEADERS : IN_HEADERS;
    return { bytes, isPrivate, fill: (text) => ({ headers: { ...more, [name]: inHeader(text) }, ...body }) };
  });
const inTypes = TYPES.map((type): Place => {
  return { bytes: IN_HEADERS, fill: (text) => ({ headers: post(LIST, `${type}${inHeader(text)}`), body: '' }) };
});
const inJson = ['quantity', 'complete', 'shipDate', 'petId', 'x'].flatMap((name): Place[] =>
  [`{"${name}":"*"}`, `{"${name}":*}`, `{"${name}*":1}`, '*'].map((body) => ({
    bytes: IN_BODY,
    fill: (text) => ({ headers: post('/store/orders', 'application/json'), body: body.replace('*', () => text) }),
  })),
);

/** Each text of a message, as JSON with the text in it. */
function textsOf({ fields }: DescMessage, depth = 0): ((text: string) => Record<string, JsonValue>)[] {
  const wrap = (field: DescField, inner: (text: string) => JsonValue) => (text: string) => ({
    [field.jsonName]: field.fieldKind === 'list' ? [inner(text)] : inner(text),
  });
  return fields.flatMap((field) => {
    if (field.fieldKind === 'map') return [];
    if (field.scalar === ScalarType.STRING) return [wrap(field, (text) => text)];
    const isOurs = field.message !== undefined && !field.message.typeName.startsWith('google.');
    return isOurs && depth < 3 ? textsOf(field.message, depth + 1).map((inner) => wrap(field, inner)) : [];
  });
}

const inMessages = [...loadOperations().byPath.values()].flatMap(({ path, input, isEventStream }) =>
  isEventStream || path.endsWith('/Watch')
    ? []
    : textsOf(input).flatMap((toMessage) =>
        [true, false].map((isPrivate): Place => {
          const fill = (text: string) => ({
            headers: grpcHeaders(path),
            body: grpcFrame(toBinary(input, fromJson(input, toMessage(text)))),
          });
          return { bytes: IN_BODY, isPrivate, fill };
        }),
      ),
);

const PLACES = [
  ...[...inPaths, ...inTypes, ...inJson, ...inMessages, ...inHeaders(get('/events'))],
  ...TYPES.flatMap((type) => inHeaders(post(LIST, type))),
  ...inHeaders(grpcHeaders(LIST), true),
];

test('Patterns - no text of a caller, however long and wherever, takes a process long', async (t) => {
  t.timeout(60 * 60_000);
  const { key, config, publicAddress, grpcAddress } = t.context;
  const operatorKey = readFileSync(operatorKeyFile(config.dataDir), 'utf8').trim();
  const { envoy, server } = pidsOf(t.context);
  const usedMs = () => (cpuTimeUs(envoy) + cpuTimeUs(server)) / 1_000;
  const cost = async ({ isPrivate }: Place, { headers, body }: ReturnType<Place['fill']>) => {
    // A connection for each: some of the requests end it.
    const session = await openSession(isPrivate ? grpcAddress : publicAddress);
    const before = usedMs();
    const isOfOperator = String(headers[':path']).startsWith('/apiplatform.admin.');
    const sent = { authorization: `Bearer ${isOfOperator ? operatorKey : key}`, ...headers };
    const { outcome } = await exchange(session, sent, {
      body: body === undefined ? undefined : Buffer.from(body),
      giveUpMs: 10_000,
    });
    const used = usedMs() - before;
    session.destroy();
    t.not(outcome, 'left', JSON.stringify(headers).slice(0, 200)); // some get an error of HTTP/2
    return used;
  };
  for (const [index, place] of PLACES.entries()) {
    const [first, step] = isFull ? [0, 1] : [(index * 7 + SEED) % TEXTS.length, Math.ceil(TEXTS.length / SHARE)];
    for (let at = first; at < first + TEXTS.length; at += step) {
      const { start = '', piece = ' ', end = '' } = TEXTS[at % TEXTS.length] ?? {};
      const size = Buffer.byteLength(place.bytes === IN_BODY ? piece : encodeURI(piece));
      const request = place.fill(`${start}${piece.repeat(Math.floor((place.bytes - 10) / size))}${end}`);
      if ((await cost(place, request)) < MAX_CPU_MS) continue;
      const againMs = await cost(place, request); // the first time the process may have collected its garbage
      t.true(againMs < MAX_CPU_MS, `${againMs} ms for ${JSON.stringify(request.headers).slice(0, 200)} with ${piece}`);
    }
  }
  t.is((await t.context.rest.get('/pets')).status, 200);
});
