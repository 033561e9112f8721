/** The tests of every HTTP proxy in deploy/proxies. */
import { once } from 'node:events';
import { connect } from 'node:tls';
import { Client, credentials } from '@grpc/grpc-js';
import type { TestFn } from 'ava';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { restBody } from '../../src/edge/rest-protocol.ts';
import { apiError } from '../../src/errors.ts';
import { exceedsLimit, FEW_REQUESTS, isFirst } from './allowances.ts';
import { callFrom, PROTOCOLS } from './callers.ts';
import { bearer, unary } from './grpc.ts';
import { freePorts } from './ports.ts';
import { testUnless } from './programs.ts';
import type { ProxyKind, RunningProxy } from './proxies.ts';
import { ONE_STREAM, testStreams } from './proxy-streams.ts';
import { startTestStack, type TestStack } from './stack.ts';
import { type Certificates, makeCertificates, noOpenssl } from './tls.ts';

interface Context extends TestStack {
  readonly proxy: RunningProxy;
  readonly certificates: Certificates;
}

/** Declares the tests of a proxy that connects from 127.0.0.1. */
export function proxySuite(kind: ProxyKind): TestFn<Context> {
  const test: TestFn<Context> = testUnless(kind.missing ?? noOpenssl);
  const { name } = kind;

  test.before(async (t) => {
    const certificates = await makeCertificates();
    const stack = await startTestStack({ ...FEW_REQUESTS, ...ONE_STREAM, TRUSTED_PROXIES: '127.0.0.1' });
    t.context = { ...stack, certificates, proxy: await kind.start(stack.config.port, certificates) };
  });
  test.after.always(async ({ context }) => {
    await context.proxy?.stop();
    await context.close?.();
    await context.certificates?.remove();
  });

  PROTOCOLS.forEach((protocol, index) => {
    /** An address for each protocol and purpose. */
    const address = (purpose: number) => `127.0.${index + 1}.${purpose}`;

    test(`${name} - each caller has its own allowance, over ${protocol}`, async (t) => {
      const { door } = t.context.proxy;
      t.true(isFirst(await callFrom(address(1), door, protocol)));
      t.true(await exceedsLimit(() => callFrom(address(1), door, protocol)));
      t.true(isFirst(await callFrom(address(2), door, protocol)));
    });

    test(`${name} - a caller can not set its address, over ${protocol}`, async (t) => {
      const { door } = t.context.proxy;
      const send = (last: number) =>
        callFrom(address(3), door, protocol, { headers: { 'x-forwarded-for': `198.51.100.${last}` } });
      t.true(isFirst(await send(0)));
      t.true(await exceedsLimit((round) => send(round + 1)));
    });

    test(`${name} - a caller with a key is served, over ${protocol}`, async (t) => {
      const { key, proxy } = t.context;
      const headers = { authorization: `Bearer ${key}` };
      t.is((await callFrom(address(4), proxy.door, protocol, { headers })).status, 200);
    });
  });

  test(`${name} - listens on IPv6 too, with HTTP/2`, async (t) => {
    const { port, ca } = t.context.proxy.door;
    const socket = connect({ host: '::1', port, ca, servername: 'localhost', ALPNProtocols: ['h2'] });
    t.teardown(() => socket.destroy());
    await once(socket, 'secureConnect');
    t.is(socket.alpnProtocol, 'h2');
  });

  test(`${name} - a real gRPC client calls through it`, async (t) => {
    const { key, proxy, rest } = t.context;
    const { port, ca } = proxy.door;
    const client = new Client(`localhost:${port}`, credentials.createSsl(ca));
    const id = BigInt(await rest.pet());
    const { message, headers } = await unary(client, Pets.listPets, { ids: [id], pageToken: '' }, bearer(key));
    t.deepEqual(
      message.pets.map((pet) => pet.id),
      [id],
    );
    t.truthy(headers.get('x-ratelimit-limit')[0]);
    client.close();
  });

  test(`${name} - a gRPC stream is not buffered`, async (t) => {
    const { port, ca } = t.context.proxy.door;
    const client = new Client(`localhost:${port}`, credentials.createSsl(ca));
    const bytes = (message: Buffer) => message;
    const call = client.makeServerStreamRequest('/grpc.health.v1.Health/Watch', bytes, bytes, Buffer.of());
    call.on('error', () => undefined); // it is cancelled
    const [status] = await once(call, 'data');
    t.deepEqual([...status], [8, 1]); // SERVING
    call.cancel();
    client.close();
  });

  testStreams(test, name);

  test(`${name} - gRPC-Web works over HTTP/1.1`, async (t) => {
    const { key, proxy } = t.context;
    const received = await callFrom('127.0.9.1', proxy.door, 'HTTP/1.1', {
      method: 'POST',
      path: '/petstore.v1.PetService/ListPets',
      headers: { 'content-type': 'application/grpc-web+proto', 'x-grpc-web': '1', authorization: `Bearer ${key}` },
      body: new Uint8Array(5),
    });
    t.is(received.status, 200);
    t.is(received.headers.get('content-type'), 'application/grpc-web+proto');
    t.regex(received.text, /grpc-status:0/);
  });

  test(`${name} - errors of the service pass unchanged, with their headers`, async (t) => {
    const { key, proxy } = t.context;
    const authorization = `Bearer ${key}`;
    const json = { 'content-type': 'application/json', authorization };
    for (const [status, sent] of [
      [401, {}],
      [400, { path: '/pets?colour=red', headers: { authorization } }],
      [404, { path: '/pets/999', headers: { authorization } }],
      [404, { path: '//pets/../nope', headers: { authorization } }],
      [405, { method: 'PUT', headers: { authorization } }],
      [413, { method: 'POST', headers: json, body: 'x'.repeat(65_537) }],
      [413, { method: 'POST', headers: json, body: 'x'.repeat(2_000_000) }],
    ] as const) {
      const received = await callFrom('127.0.9.2', proxy.door, 'HTTP/1.1', sent);
      t.is(received.status, status, received.text);
      t.is(JSON.parse(received.text).status, status);
      t.truthy(received.headers.get('x-ratelimit-limit'));
      t.regex(received.headers.get('x-request-id') ?? '', /^[\da-f-]{36}$/);
      t.is(received.headers.has('www-authenticate'), status === 401);
      t.is(received.headers.has('allow'), status === 405);
    }
  });

  for (const protocol of kind.earlyResponses) {
    test(`${name} - a request without a key is refused before its body arrives, over ${protocol}`, async (t) => {
      const { status } = await callFrom('127.0.9.3', t.context.proxy.door, protocol, {
        method: 'POST',
        headers: protocol === 'gRPC' ? {} : { 'content-type': 'application/json' },
        body: '{',
        isUnfinished: true,
      });
      t.is(status, 401);
    });
  }

  test(`${name} - links in responses lead back through it`, async (t) => {
    const { key, proxy, rest } = t.context;
    const authorization = `Bearer ${key}`;
    const categoryId = await rest.category();
    const created = await callFrom('127.0.9.4', proxy.door, 'HTTP/1.1', {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Tom', categoryId }),
    });
    t.regex(created.headers.get('location') ?? '', /^\/pets\/\d+$/);
    await rest.pet({ categoryId });
    const page = await callFrom('127.0.9.4', proxy.door, 'HTTP/1.1', {
      path: '/pets?limit=1',
      headers: { authorization },
    });
    t.regex(page.headers.get('link') ?? '', /^<\/pets\?/);
  });

  test(`${name} - plain HTTP is redirected to HTTPS`, async (t) => {
    const { status, headers } = await callFrom('127.0.9.5', { port: t.context.proxy.redirectPort }, 'HTTP/1.1', {
      path: '/pets?limit=1',
      headers: { host: 'localhost' },
    });
    t.is(status, 308);
    t.regex(headers.get('location') ?? '', /^https:\/\/localhost(:\d+)?\/pets\?limit=1$/);
  });

  test(`${name} - responds with a 503 in the error format if the service is unavailable`, async (t) => {
    const { certificates } = t.context;
    const [unusedPort = 0] = await freePorts(1);
    const proxy = await kind.start(unusedPort, certificates);
    t.teardown(() => proxy.stop());
    for (const protocol of PROTOCOLS) {
      const { status, headers, text } = await callFrom('127.0.9.6', proxy.door, protocol);
      t.is(status, 503);
      t.is(text, restBody(apiError('UNAVAILABLE')));
      t.is(headers.get('content-type'), 'application/json');
      t.is(headers.get('retry-after'), '1');
    }
  });

  return test;
}
