/**
 * Texts on which a pattern could go back and forth: one piece again and again, in each place that a caller fills. The
 * time for such a pattern is the square or the cube of the length, and nobody else is served meanwhile.
 */
import type { OutgoingHttpHeaders } from 'node:http2';
import { exchange } from '../support/calls/http2.ts';
import { openSession, targetOf } from '../support/calls/sockets.ts';
import { cpuTimeUs } from '../support/machine/cpu-time.ts';
import { pidsOf } from './campaign/memory.ts';
import { hostileTest } from './campaign/service.ts';

const test = hostileTest();

/** Envoy takes 24 KiB of headers. */
const IN_HEADERS = 22_000;
const IN_BODY = 65_000;
/** A request like these takes a few milliseconds. */
const MAX_CPU_MS = 100;

const PIECES = [...' \t;,10.e-/=a"[', ';q=0', '%61', '\\u0031', '{"a":'];
const HEADERS = [
  ...['accept', 'accept-encoding', 'authorization', 'connect-timeout-ms', 'content-type', 'grpc-timeout'],
  ...['idempotency-key', 'if-match', 'if-none-match', 'last-event-id', 'user-agent', 'x-forwarded-for'],
];
const TYPES = ['application/json', 'application/grpc', 'application/grpc-web', 'application/proto'];

/** A text in this place. */
type Place = (text: string) => { readonly headers: OutgoingHttpHeaders; readonly body?: string };

const get = (path: string) => ({ headers: { ':method': 'GET', ':path': path } });
const post = (path: string, type: string) => ({ ':method': 'POST', ':path': path, 'content-type': type });
const order = (body: string) => ({ headers: post('/store/orders', 'application/json'), body });

const IN_HEADER: readonly Place[] = [
  ...['/pets/', '/docs/', '/pets?limit=', '/pets?', '/events/stream?types='].map(
    (start): Place =>
      (text) =>
        get(start + encodeURI(text)),
  ),
  ...HEADERS.map(
    (name): Place =>
      (text) => ({ headers: { ...get('/events').headers, [name]: text } }),
  ),
  ...TYPES.flatMap((type) => {
    const call = post('/petstore.v1.PetService/ListPets', type);
    const places: Place[] = HEADERS.map((name) => (text) => ({ headers: { ...call, [name]: text }, body: '' }));
    return [...places, (text: string) => ({ headers: { ...call, 'content-type': `${type}${text}` }, body: '' })];
  }),
];

const IN_JSON: readonly Place[] = ['quantity', 'complete', 'shipDate', 'petId', 'x'].flatMap((name): Place[] => [
  (text) => order(`{"${name}":"${text}"}`),
  (text) => order(`{"${name}":${text}}`),
  (text) => order(`{"${name}${text}":1}`),
  (text) => order(text),
]);

test('Patterns - no text of a caller, however long and wherever, takes a process long', async (t) => {
  t.timeout(10 * 60_000);
  const { key, publicAddress } = t.context;
  const { envoy, server } = pidsOf(t.context);
  const session = await openSession(targetOf(publicAddress, '127.0.0.1'));
  t.teardown(() => session.destroy());
  const usedMs = () => (cpuTimeUs(envoy) + cpuTimeUs(server)) / 1_000;
  const cost = async ({ headers, body }: ReturnType<Place>) => {
    const before = usedMs();
    const sent = { authorization: `Bearer ${key}`, ...headers };
    const sending = { body: body === undefined ? undefined : Buffer.from(body), giveUpMs: 10_000 };
    t.is(
      (await exchange(session, sent, sending)).outcome,
      'answered',
      JSON.stringify({ ...headers, body }).slice(0, 200),
    );
    return usedMs() - before;
  };
  for (const [places, bytes] of [
    [IN_HEADER, IN_HEADERS],
    [IN_JSON, IN_BODY],
  ] as const) {
    for (const place of places) {
      for (const piece of PIECES) {
        const request = place(`1${piece.repeat(Math.floor(bytes / encodeURI(piece).length))}x`);
        if ((await cost(request)) < MAX_CPU_MS) continue;
        const againMs = await cost(request); // the first time the process may have collected its garbage
        t.true(againMs < MAX_CPU_MS, `${againMs} ms for ${JSON.stringify(request).slice(0, 200)}`);
      }
    }
  }
  t.is((await t.context.rest.get('/pets')).status, 200);
});
