/**
 * The HTTP proxies of deploy/proxies, before one service, to which they connect from 127.0.0.1. And proxies that nobody
 * has configured for streams: they hold back what may be compressed or buffered.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request as requestHttp } from 'node:http';
import { Client, credentials } from '@grpc/grpc-js';
// @ts-expect-error it has no types
import compression from 'compression';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { EventServiceService as Events } from '../../gen/petstore/v1/events.ts';
import { apiError } from '../../src/platform/errors.ts';
import { restBody } from '../../src/platform/protocols/rest/responses.ts';
import { callFrom, type Door, openFrom, PROTOCOLS, type Sent } from '../support/calls/callers.ts';
import { openEvents, readEvents } from '../support/calls/event-source.ts';
import { bearer, stream } from '../support/calls/grpc.ts';
import { makeCertificates, noOpenssl } from '../support/machine/tls.ts';
import { freePorts, listen } from '../support/scope.ts';
import { type SharedBy, sharing, type TestOf, testUnless } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';
import { until } from '../support/until.ts';
import { FEW_REQUESTS, hasOwnAllowance } from './allowances.ts';
import { caddy, haproxy, nginx, plainNginx, type RunningProxy } from './proxies.ts';

const KINDS = [nginx, haproxy, caddy];
const FOUND = KINDS.filter(({ missing }) => missing === undefined);

const anyTest = sharing(noOpenssl, async (t) => {
  const certificates = await makeCertificates(t);
  // An account has one stream, so a second one shows that the first has ended.
  const stack = await startTestStack(t, { ...FEW_REQUESTS, EVENT_STREAMS: '1', TRUSTED_PROXIES: '127.0.0.1' });
  const start = async (kind: (typeof KINDS)[number]) =>
    [kind.name, await kind.start(t, stack.config.port, certificates)] as const;
  return { ...stack, certificates, proxies: new Map<string, RunningProxy>(await Promise.all(FOUND.map(start))) };
});
type Context = SharedBy<typeof anyTest>;

const newKey = ({ operator }: Context) => operator.keyOf({ perMinute: 100_000, perDay: 100_000 });

/** The type of the events that the tests write. */
const TYPE = 'order.created';
/** Less than the time until the next heartbeat, which could not be written any more. */
const LEAVE_MS = 10_000;

/**
 * Opens a stream through the proxy. Rejects when it is refused. `next` is the id of an order, or undefined for a
 * checkpoint, and rejects at the end.
 */
async function overHttp1(door: Door, key: string) {
  const socket = openFrom('127.0.9.7', door);
  const [path, headers] = [`/events/stream?types=${TYPE}`, { authorization: `Bearer ${key}` }];
  const request = requestHttp({ createConnection: () => socket, path, headers }).end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const close = () => socket.destroy();
  if (response.statusCode !== 200) {
    close();
    throw new Error(`the stream is refused with ${response.statusCode}`);
  }
  response.on('error', () => undefined); // the iterator rejects
  const text = response.setEncoding('utf8')[Symbol.asyncIterator]();
  const reader = readEvents(() => text.next());
  const next = async () => {
    const event = await reader.next();
    if (event === undefined) throw new Error('the stream has ended');
    return event.data?.order?.id as number | undefined;
  };
  return { next, close };
}

async function overGrpc({ port, ca }: Door, key: string) {
  const client = new Client(`localhost:${port}`, credentials.createSsl(ca));
  const call = stream(client, Events.watchEvents, { types: [TYPE] }, bearer(key));
  const messages = call[Symbol.asyncIterator]();
  const next = async () => {
    const { value } = await messages.next();
    if (value === undefined) throw new Error('the stream has ended');
    return value.event?.order === undefined ? undefined : Number(value.event.order.id);
  };
  const close = () => {
    call.cancel();
    client.close();
  };
  return { next, close };
}

for (const [number, kind] of KINDS.entries()) {
  const test = testUnless<Context>(kind.missing ?? noOpenssl);
  const { name } = kind;
  const doorOf = ({ proxies }: Context): Door => proxies.get(name)?.door ?? { port: 0 };

  for (const [index, protocol] of PROTOCOLS.entries()) {
    const address = (purpose: number) => `127.${number + 1}.${index + 1}.${purpose}`;

    test(`${name} - each caller has its own allowance, and can not set its address, over ${protocol}`, async (t) => {
      const door = doorOf(t.context);
      await hasOwnAllowance(t, [address(1), address(2)], door, protocol, t.context.key);
    });
  }

  for (const [protocol, openFeed] of Object.entries({ 'HTTP/1.1': overHttp1, gRPC: overGrpc })) {
    test(`${name} - events arrive as they happen, with heartbeats; a left stream ends, over ${protocol}`, async (t) => {
      t.timeout(60_000);
      const { rest } = t.context;
      const key = await newKey(t.context);
      const open = () => openFeed(doorOf(t.context), key);
      const feed = await open();
      t.is(await feed.next(), undefined, 'the stream has begun');
      const place = async () => {
        const { id } = await rest.order();
        // Events of the other streams' tests come too. A heartbeat before the event would mean that it was held back.
        for (let seen = await feed.next(); seen !== id; seen = await feed.next()) t.not(seen, undefined);
      };
      await place();
      while ((await feed.next()) !== undefined); // until the heartbeat of 15 s without an event
      await place();
      const begin = async () => {
        const another = await open();
        await another.next();
        return another;
      };
      await t.throwsAsync(begin, { message: /429|RESOURCE_EXHAUSTED/ });
      feed.close();
      (await until(() => begin().catch(() => undefined), 'room for another stream', LEAVE_MS)).close();
    });
  }

  test(`${name} - errors of the service pass unchanged, with their headers, and links lead back`, async (t) => {
    const { key, rest } = t.context;
    const json = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
    const send = (sent: Sent) => callFrom('127.0.9.2', doorOf(t.context), 'HTTP/1.1', { headers: json, ...sent });
    for (const [status, sent] of [
      [401, { headers: {} }],
      [400, { path: '/pets?colour=red' }],
      [404, { path: '/pets/999999' }],
      [404, { path: '//pets/../nope' }],
      [405, { method: 'PUT' }],
      [413, { method: 'POST', body: 'x'.repeat(65_537) }],
      [413, { method: 'POST', body: 'x'.repeat(2_000_000) }],
    ] as const) {
      const { headers, text, ...received } = await send(sent);
      t.deepEqual([received.status, JSON.parse(text).status], [status, status], text);
      t.truthy(headers.get('x-ratelimit-limit'));
      t.regex(headers.get('x-request-id') ?? '', /^[\da-f-]{36}$/);
      t.deepEqual([headers.has('www-authenticate'), headers.has('allow')], [status === 401, status === 405]);
    }
    const created = await send({ method: 'POST', path: '/categories', body: '{"name":"Cats"}' });
    t.regex(created.headers.get('location') ?? '', /^\/categories\/\d+$/);
    await rest.category();
    t.regex((await send({ path: '/categories?limit=1' })).headers.get('link') ?? '', /^<\/categories\?/);
  });

  test(`${name} - a header of 70 KB ends no request of another caller`, async (t) => {
    const door = doorOf(t.context);
    const feed = await overHttp1(door, await newKey(t.context));
    t.is(await feed.next(), undefined, 'the stream has begun');
    const sent = { headers: { 'x-long': '~'.repeat(70_000) } };
    for (const protocol of ['HTTP/1.1', 'HTTP/2'] as const)
      await callFrom('127.0.9.4', door, protocol, sent).catch(() => undefined); // some refuse it without a response
    const { id } = await t.context.rest.order();
    for (let seen = await feed.next(); seen !== id; seen = await feed.next());
    feed.close();
    t.pass();
  });

  for (const protocol of kind.earlyResponses) {
    test(`${name} - a request without a key is refused before its body arrives, over ${protocol}`, async (t) => {
      const headers: Record<string, string> = protocol === 'gRPC' ? {} : { 'content-type': 'application/json' };
      const sent = { method: 'POST', headers, body: '{', isUnfinished: true };
      t.is((await callFrom(`127.${number + 1}.9.3`, doorOf(t.context), protocol, sent)).status, 401);
    });
  }

  test(`${name} - plain HTTP is redirected to HTTPS`, async (t) => {
    const port = t.context.proxies.get(name)?.redirectPort ?? 0;
    const sent = { path: '/pets?limit=1', headers: { host: 'localhost' } };
    const { status, headers } = await callFrom('127.0.9.5', { port }, 'HTTP/1.1', sent);
    t.is(status, 308);
    t.regex(headers.get('location') ?? '', /^https:\/\/localhost(:\d+)?\/pets\?limit=1$/);
  });

  test(`${name} - responds with a 503 in the error format if the service is unavailable`, async (t) => {
    const [unusedPort = 0] = await freePorts(1);
    const proxy = await kind.start(t, unusedPort, t.context.certificates);
    for (const protocol of PROTOCOLS) {
      const { status, headers, text } = await callFrom('127.0.9.6', proxy.door, protocol);
      t.deepEqual([status, text], [503, restBody(apiError('UNAVAILABLE'))]);
      t.deepEqual([headers.get('content-type'), headers.get('retry-after')], ['application/json', '1']);
    }
  });
}

/** Less than the 15 s until the first heartbeat, which pushes out what a proxy holds back. */
const PROMPT_MS = 10_000;

async function eventsArrive(t: TestOf<typeof anyTest>, url: string): Promise<void> {
  const key = await newKey(t.context);
  const signal = AbortSignal.timeout(PROMPT_MS);
  const events = await openEvents(`${url}/events/stream`, key, { 'accept-encoding': 'gzip' }, signal);
  t.teardown(events.close);
  t.is((await events.next())?.event, 'ready');
  const id = await t.context.rest.category('Cats');
  const isThere = async () => (await events.take(1))[0]?.data.category?.id === id;
  t.true(await until(isThere, 'the event'));
}

testUnless<Context>(plainNginx.missing ?? noOpenssl)(
  'Event stream - arrives at once through nginx with its defaults',
  async (t) => {
    const { door } = await plainNginx.start(t, t.context.config.port, t.context.certificates);
    await eventsArrive(t, `http://127.0.0.1:${door.port}`);
  },
);

anyTest("Event stream - arrives at once through the proxy of webpack's dev server, which compresses", async (t) => {
  // The two middlewares of which webpack-dev-server makes it, without the rest of webpack.
  const [compress, proxy] = [compression(), createProxyMiddleware({ target: t.context.rest.url })];
  const server = createServer((request, response) => compress(request, response, () => proxy(request, response)));
  await eventsArrive(t, `http://${await listen(t, server)}`);
});
