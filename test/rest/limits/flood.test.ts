/** Envoy refuses a flood of requests without a known key itself, by address, and nobody else notices. */
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http2';
import { availableParallelism } from 'node:os';
import anyTest, { type TestFn } from 'ava';
import { generateKey } from '../../../src/access/keys/format.ts';
import { isError } from '../../support/contract.ts';
import { grpcHeaders, openSession, targetOf } from '../../support/hostile/sockets.ts';
import type { RestResponse } from '../../support/rest-client.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;
const BURST = 30;
/** Each worker thread of Envoy counts for itself. */
const MAX_SENT = (BURST + 5) * availableParallelism();
const MESSAGE = 'the limit of 1 per second is used up: try again in 1 s';

test.before(async (t) => {
  t.context = await startTestStack({ ADDRESS_BURST: String(BURST), ADDRESS_PER_SECOND: '1' });
});
test.after.always((t) => t.context.close());

/** Repeats a request until Envoy refuses it. Resolves with the refusal, and with how many requests it took. */
async function flood(request: () => Promise<RestResponse>): Promise<{ sent: number; refused: RestResponse }> {
  for (let sent = 1; sent <= MAX_SENT; sent += 1) {
    const response = await request();
    if (response.headers.get('x-ratelimit-limit') === String(BURST)) return { sent, refused: response };
  }
  throw new Error(`none of ${MAX_SENT} requests was refused`);
}

/** The response's headers to a request from this address, of which only the headers are sent. */
async function begin({ publicAddress }: TestStack, from: string, request: object): Promise<IncomingHttpHeaders> {
  const session = await openSession(targetOf(publicAddress, from));
  try {
    const stream = session.request({ ':path': '/pets', ...request }, { endStream: false });
    stream.on('error', () => undefined);
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
    return headers;
  } finally {
    session.destroy();
  }
}

test.serial('RATE_LIMITED - beyond the burst of an address without a key, and no earlier', async (t) => {
  const anonymous = t.context.rest.withKey(undefined);
  const { sent, refused } = await flood(() => anonymous.get('/pets'));
  t.true(sent > BURST);
  isError(t, refused, 429, 'RATE_LIMITED', MESSAGE);
  t.is(refused.headers.get('retry-after'), '1');
  t.is(refused.headers.get('x-ratelimit-remaining'), '0');
  t.true(Math.abs(Number(refused.headers.get('x-ratelimit-reset')) - Date.now() / 1_000) < 5);
});

test.serial('RATE_LIMITED - over Connect it has the shape of Connect', async (t) => {
  const request = () =>
    fetch(`${t.context.rest.url}/petstore.v1.PetService/ListPets`, {
      method: 'POST',
      headers: { 'content-type': 'application/proto' },
    });
  for (let sent = 1; sent <= MAX_SENT; sent += 1) {
    const response = await request();
    const body = (await response.json()) as { code: string; message: string };
    if (body.message !== MESSAGE) continue;
    t.is(response.status, 429);
    t.is(body.code, 'resource_exhausted');
    return;
  }
  t.fail('none was refused');
});

test.serial('RATE_LIMITED - a gRPC caller gets a status with a pushback', async (t) => {
  for (let sent = 1; sent <= MAX_SENT; sent += 1) {
    const headers = await begin(t.context, '127.0.1.2', grpcHeaders('/petstore.v1.PetService/ListPets'));
    if (headers['grpc-status'] !== '8') continue;
    t.is(headers[':status'] as unknown, 200);
    t.is(headers['grpc-message'], MESSAGE);
    t.is(headers['grpc-retry-pushback-ms'], '1000');
    return;
  }
  t.fail('none was refused');
});

test.serial('RATE_LIMITED - a gRPC-Web caller gets the status in the body, in binary and in text', async (t) => {
  const url = `${t.context.rest.url}/petstore.v1.PetService/ListPets`;
  for (const type of ['application/grpc-web+proto', 'application/grpc-web-text']) {
    const request = () => fetch(url, { method: 'POST', headers: { 'content-type': type }, body: 'AAAAAAA=' });
    let response = await request();
    for (let sent = 1; response.headers.get('x-ratelimit-limit') !== String(BURST); sent += 1) {
      if (sent > MAX_SENT) throw new Error('none was refused');
      response = await request();
    }
    t.is(response.status, 200);
    t.is(response.headers.get('content-type'), type);
    const body = Buffer.from(await response.arrayBuffer());
    const frame = type.endsWith('text') ? Buffer.from(body.toString(), 'base64') : body;
    t.deepEqual([frame[0], frame.readUInt32BE(1)], [0x80, frame.length - 5]);
    const trailers = frame.subarray(5).toString();
    t.true(trailers.includes('grpc-status: 8\r\n') && trailers.includes(`grpc-message: ${MESSAGE}\r\n`));
  }
});

test.serial('A flood - costs callers with a key nothing, nor other addresses, nor health and docs', async (t) => {
  const { rest } = t.context;
  const anonymous = rest.withKey(undefined);
  await flood(() => anonymous.get('/pets'));
  for (let count = 0; count < MAX_SENT; count += 1) t.is((await rest.get('/pets')).status, 200);
  isError(t, await rest.withKey(generateKey()).get('/pets'), 401, 'API_KEY_INVALID');
  t.is((await begin(t.context, '127.0.1.3', {}))[':status'] as unknown, 401);
  t.is((await anonymous.get('/healthz')).status, 200);
  t.is((await anonymous.get('/docs')).status, 200);
  await flood(() => anonymous.get('/healthz'));
  t.is((await rest.get('/pets')).status, 200);
});

test.serial('A caller without a key - is refused by the headers of a GET, whatever follows them', async (t) => {
  const headers = await begin(t.context, '127.0.1.4', {});
  t.is(headers[':status'] as unknown, 401);
});

test.serial('A caller with a key - has one, whatever its spelling', async (t) => {
  const { rest, key } = t.context;
  for (const scheme of ['Bearer', 'bearer', 'BEARER   ']) {
    const authorization = `${scheme} ${key}`;
    t.is((await rest.withKey(undefined).get('/pets', { headers: { authorization } })).status, 200);
  }
});
