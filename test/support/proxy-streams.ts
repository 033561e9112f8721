/** The tests of streams of events through a proxy. */
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import type { Readable } from 'node:stream';
import { Client, credentials } from '@grpc/grpc-js';
import type { TestFn } from 'ava';
import { EventServiceService as Events, type WatchEventsResponse } from '../../gen/petstore/v1/events.ts';
import { type Door, openFrom, PROTOCOLS, type Protocol } from './callers.ts';
import { readEvents } from './event-source.ts';
import { bearer } from './grpc.ts';
import { connectOperator } from './operator.ts';
import type { RunningProxy } from './proxies.ts';
import type { TestStack } from './stack.ts';
import { until } from './until.ts';

/** The type of the events that the tests write. */
const TYPE = 'order.created';
/** Less than the time until the next heartbeat, which could not be written any more. */
const LEAVE_MS = 10_000;

interface Feed {
  /** What comes next: the id of an order, or `undefined` for a checkpoint. Rejects at the end. */
  next(): Promise<number | undefined>;
  close(): void;
}

/** Opens a stream through the proxy. Rejects when it is refused. */
function openFeed(door: Door, protocol: Protocol, key: string): Promise<Feed> {
  if (protocol === 'gRPC') return overGrpc(door, key);
  const headers = { authorization: `Bearer ${key}` };
  return (protocol === 'HTTP/1.1' ? overHttp1 : overHttp2)(door, `/events/stream?types=${TYPE}`, headers);
}

async function overHttp1(door: Door, path: string, headers: Readonly<Record<string, string>>): Promise<Feed> {
  const socket = openFrom('127.0.9.7', door, 'HTTP/1.1');
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    requestHttp({ createConnection: () => socket, path, headers }, resolve)
      .on('error', reject)
      .end();
  });
  return ofText(response, response.statusCode, () => socket.destroy());
}

async function overHttp2(door: Door, path: string, headers: Readonly<Record<string, string>>): Promise<Feed> {
  const socket = openFrom('127.0.9.7', door, 'HTTP/2');
  const session = connectHttp2('http://localhost', { createConnection: () => socket });
  const stream = session.request({ ':path': path, ...headers });
  const response = await new Promise<IncomingHttpHeaders>((resolve, reject) => {
    stream.on('response', resolve).on('error', reject);
    session.on('error', reject);
  });
  return ofText(stream, Number(response[':status']), () => session.destroy());
}

function ofText(body: Readable, status: number | undefined, close: () => void): Feed {
  if (status !== 200) {
    close();
    throw new Error(`the stream is refused with ${status}`);
  }
  body.on('error', () => undefined); // the iterator rejects
  const text = body.setEncoding('utf8')[Symbol.asyncIterator]();
  const reader = readEvents(() => text.next());
  const next = async () => {
    const event = await reader.next();
    if (event === undefined) throw new Error('the stream has ended');
    return event.data?.order?.id;
  };
  return { next, close };
}

async function overGrpc({ port, ca }: Door, key: string): Promise<Feed> {
  const client = new Client(`localhost:${port}`, credentials.createSsl(ca));
  const { path, requestSerialize, responseDeserialize } = Events.watchEvents;
  const request = { after: undefined, types: [TYPE] };
  const call = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, bearer(key));
  const messages = call[Symbol.asyncIterator]();
  const next = async () => {
    const message: IteratorResult<WatchEventsResponse, undefined> = await messages.next();
    if (message.value === undefined) throw new Error('the stream has ended');
    const order = message.value.event?.order;
    return order === undefined ? undefined : Number(order.id);
  };
  return {
    next,
    close() {
      call.cancel();
      client.close();
    },
  };
}

/** The setting that the tests need: an account has one stream, so a second one shows that the first has ended. */
export const ONE_STREAM = { EVENT_STREAMS: '1' };

export function testStreams<C extends TestStack & { readonly proxy: RunningProxy }>(test: TestFn<C>, name: string) {
  for (const protocol of PROTOCOLS) {
    const newKey = async (stack: TestStack) => {
      const operator = await connectOperator(stack);
      const key = await operator.keyOf({ perMinute: 100_000, perDay: 100_000 });
      operator.close();
      return key;
    };

    test(`${name} - events arrive as they happen, and heartbeats while none does, over ${protocol}`, async (t) => {
      t.timeout(60_000);
      const { proxy, rest } = t.context;
      const feed = await openFeed(proxy.door, protocol, await newKey(t.context));
      t.is(await feed.next(), undefined, 'the stream has begun');
      const place = async () => {
        const { id } = await rest.order();
        // Events of the other streams' tests come too. A heartbeat before the event would mean that it was held back.
        for (let seen = await feed.next(); seen !== id; seen = await feed.next()) t.not(seen, undefined);
      };
      await place();
      while ((await feed.next()) !== undefined); // until the heartbeat of 15 s without an event
      await place();
      feed.close();
    });

    test(`${name} - a stream of events whose caller leaves ends at the service, over ${protocol}`, async (t) => {
      const key = await newKey(t.context);
      const open = async () => {
        const feed = await openFeed(t.context.proxy.door, protocol, key);
        await feed.next();
        return feed;
      };
      const first = await open();
      await t.throwsAsync(open, { message: /429|RESOURCE_EXHAUSTED/ });
      first.close();
      const second = await until(() => open().catch(() => undefined), 'room for another stream', LEAVE_MS);
      second.close();
    });
  }
}
