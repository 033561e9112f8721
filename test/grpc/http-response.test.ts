/** HTTP responses to gRPC calls, without Envoy: what is sent over the wire. */

import { connect, constants } from 'node:http2';
import { ServerCredentials } from '@grpc/grpc-js';
import test, { type ExecutionContext } from 'ava';
import { PetServiceService } from '../../gen/petstore/v1/pets.ts';
import { apiError } from '../../src/errors.ts';
import { createGrpcServer } from '../../src/grpc/adapter.ts';
import type { HttpResponse, Interceptor } from '../../src/interceptors/chain.ts';
import { readMessage } from '../../src/interceptors/read-message.ts';
import { loadOperations } from '../../src/proto/operations.ts';
import { passThrough } from '../support/call.ts';

const PET = { id: 7n, name: 'Tom', categoryId: 1n, status: 1 };

/** A server that sends `response` over HTTP, and `error` for every pet but 7. */
async function start(t: ExecutionContext, response: HttpResponse, error: HttpResponse): Promise<string> {
  const httpResponse: Interceptor = {
    name: 'http',
    after: {},
    async intercept(call, next) {
      call.responseHeaders.set('x-set', 'by an interceptor');
      const found = await next(call);
      return call.metadata.get('x-http').length > 0 ? { ...found, http: response } : found;
    },
  };
  const notImplemented = () => Promise.reject(new Error('not implemented'));
  const methods = Object.fromEntries(Object.keys(PetServiceService).map((name) => [name, notImplemented]));
  const getPet = async ({ petId }: { petId: bigint }) => {
    if (petId !== 7n) throw apiError('PET_NOT_FOUND', { petId });
    return PET;
  };
  const server = createGrpcServer({
    services: [
      {
        definition: PetServiceService,
        methods: { ...methods, getPet } as never,
        interceptors: [passThrough('errorMapping'), readMessage, httpResponse],
      },
    ],
    operations: loadOperations().byPath,
    toHttpError: ({ metadata }) => (metadata.get('x-http').length > 0 ? error : undefined),
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (failure, bound) =>
      failure === null ? resolve(bound) : reject(failure),
    );
  });
  t.teardown(() => server.forceShutdown());
  return `http://127.0.0.1:${port}`;
}

interface Exchange {
  readonly headers: Readonly<Record<string, unknown>> | undefined;
  readonly body: Buffer;
  readonly trailers: Readonly<Record<string, unknown>> | undefined;
  readonly resetCode: number;
}

function getPet(url: string, petId: bigint, extraHeaders: Readonly<Record<string, string>> = { 'x-http': '1' }) {
  const bytes = PetServiceService.getPet.requestSerialize({ petId });
  const session = connect(url);
  return new Promise<Exchange>((resolve) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': PetServiceService.getPet.path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...extraHeaders,
    });
    const chunks: Buffer[] = [];
    let headers: Exchange['headers'];
    let trailers: Exchange['trailers'];
    stream.on('response', (found) => {
      headers = found;
    });
    stream.on('trailers', (found) => {
      trailers = found;
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', () => undefined); // for a reset, `rstCode` has the reason
    stream.on('close', () => {
      session.close();
      resolve({ headers, body: Buffer.concat(chunks), trailers, resetCode: stream.rstCode ?? 0 });
    });
    stream.end(Buffer.concat([Buffer.of(0, 0, 0, 0, bytes.length), bytes]));
  });
}

const OK: HttpResponse = { status: 201, headers: { 'content-type': 'text/plain', 'content-length': '2' }, body: 'ok' };
const NOT_FOUND: HttpResponse = { status: 404, headers: { 'content-type': 'text/plain' }, body: 'no' };

test('HTTP response - has status, headers and body, headers of the interceptors, no trailers', async (t) => {
  const { headers, body, trailers, resetCode } = await getPet(await start(t, OK, NOT_FOUND), 7n);
  t.like(headers, {
    ':status': 201,
    'content-type': 'text/plain',
    'content-length': '2',
    'x-set': 'by an interceptor',
  });
  t.deepEqual([body.toString(), trailers, resetCode], ['ok', undefined, constants.NGHTTP2_NO_ERROR]);
  t.is(headers?.['grpc-status'], undefined);
});

test('HTTP response - is sent for an error too', async (t) => {
  const { headers, body, trailers } = await getPet(await start(t, OK, NOT_FOUND), 8n);
  t.is(headers?.[':status'], 404);
  t.deepEqual([body.toString(), trailers], ['no', undefined]);
});

test('HTTP response - may have no body', async (t) => {
  const { headers, body } = await getPet(await start(t, { status: 204, headers: {}, body: '' }, NOT_FOUND), 7n);
  t.deepEqual([headers?.[':status'], body.length], [204, 0]);
});

test('HTTP response - is not sent to a gRPC caller of the same method', async (t) => {
  const { headers, trailers } = await getPet(await start(t, OK, NOT_FOUND), 7n, {});
  t.like(headers, { ':status': 200, 'content-type': 'application/grpc+proto' });
  t.is(trailers?.['grpc-status'], '0');
});

test('HTTP response - an invalid header resets that call, and no other', async (t) => {
  const url = await start(t, { ...OK, headers: { ':broken': 'x' } }, NOT_FOUND);
  const broken = await getPet(url, 7n);
  t.deepEqual([broken.headers, broken.resetCode], [undefined, constants.NGHTTP2_INTERNAL_ERROR]);
  t.is((await getPet(url, 8n)).headers?.[':status'], 404);
});
