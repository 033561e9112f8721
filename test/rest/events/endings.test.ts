/** How streams of events end: cleanly between two events, so that who resumes misses and repeats nothing. */
import { once } from 'node:events';
import { connect, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { AdminServiceService as Admin } from '../../../gen/apiplatform/admin/v1/admin.ts';
import {
  EventServiceService as Events,
  WatchEventsRequest,
  WatchEventsResponse,
} from '../../../gen/petstore/v1/events.ts';
import { openEvents } from '../../support/calls/event-source.ts';
import { connectOperator, type Operator } from '../../support/calls/operator.ts';
import { readAll } from '../../support/calls/pages.ts';
import { grpcFrame, grpcHeaders } from '../../support/calls/sockets.ts';
import { watchEvents } from '../../support/calls/watch-events.ts';
import { startTestStack, type TestStack } from '../../support/service/stack.ts';
import { until } from '../../support/until.ts';

interface Context extends TestStack {
  readonly operator: Operator;
}
const test = anyTest as TestFn<Context>;

/** Longer than streams go on after the end of their key, so that the one does not pass for the other. */
const MAX_AGE_SECONDS = 16;
const PAUSE_MS = 5;

test.before(async (t) => {
  const stack = await startTestStack({ EVENT_STREAM_SECONDS: String(MAX_AGE_SECONDS) });
  t.context = { ...stack, operator: await connectOperator(stack) };
});
test.after.always(async ({ context: { operator, close } }) => {
  operator?.close();
  await close?.();
});

/** Changes the shop until it is told to stop. Some events are large. */
async function changeAll({ rest }: TestStack, signal: AbortSignal): Promise<void> {
  const id = await rest.category();
  for (let count = 0; !signal.aborted; count += 1) {
    await rest.put(`/categories/${id}`, { name: `${count}`, description: '猫'.repeat((count % 5) * 400) });
    await delay(PAUSE_MS);
  }
}

interface Reading {
  /** The ids of the events so far. */
  readonly ids: readonly number[];
  /** The gRPC status, or undefined for the clean end of a body. Rejects when a body breaks. */
  readonly ended: Promise<status | undefined>;
}

function readRest({ rest }: TestStack, key: string, after: number): Reading {
  const ids: number[] = [];
  const read = async () => {
    const stream = await openEvents(`${rest.url}/events/stream?after=${after}`, key);
    if (stream.response.status !== 200) throw new Error(await stream.response.text());
    for (let event = await stream.next(); event !== undefined; event = await stream.next()) {
      if (event.data?.id !== undefined) ids.push(event.data.id);
    }
    return undefined;
  };
  return { ids, ended: read() };
}

function readGrpc(address: string, key: string, after: number): Reading {
  const { ids, ended } = watchEvents(address, key, { after: BigInt(after) });
  return { ids, ended: ended.then((error) => error?.code) };
}

/** The ids of all events after an id, from the list. */
async function listed({ rest }: TestStack, after: number): Promise<number[]> {
  const ids = (await readAll<{ id: number }>(rest, '/events')).map(({ id }) => id);
  return ids.filter((id) => id > after);
}

const WITHIN_MS = 5_000;
/** Longer than it takes to open the streams on a slow machine. */
const EXPIRY_MS = 10_000;
const FREELY = { perMinute: 100_000, perDay: 100_000 };

interface Ending {
  /** What ends the stream, or nothing when it ends by itself. */
  readonly end?: (operator: Operator, keyId: bigint, accountId: bigint) => Promise<unknown>;
  readonly expiresAfterMs?: number;
  /** From `end` on, or from when it was opened. */
  readonly withinMs: number;
}

const ENDINGS: Readonly<Record<string, Ending>> = {
  revocation: { end: (operator, keyId) => operator.call(Admin.revokeKey, { keyId }), withinMs: WITHIN_MS },
  suspension: {
    end: (operator, _, accountId) => operator.call(Admin.suspendAccount, { accountId }),
    withinMs: WITHIN_MS,
  },
  expiry: { expiresAfterMs: EXPIRY_MS, withinMs: EXPIRY_MS + WITHIN_MS },
  'the maximum age': { withinMs: MAX_AGE_SECONDS * 1_000 + WITHIN_MS },
};

test.serial('End - within 5 s of the end of its key, or at its maximum age, cleanly between two events', async (t) => {
  const stack = t.context;
  const { operator } = stack;
  const busy = new AbortController();
  const changing = changeAll(stack, busy.signal);
  const after = (await listed(stack, 0)).at(-1) ?? 0;
  const ends = Object.entries(ENDINGS).map(async ([how, { end, expiresAfterMs, withinMs }]) => {
    const { id: accountId } = await operator.account(FREELY);
    const expiresAtMs = expiresAfterMs === undefined ? undefined : Date.now() + expiresAfterMs;
    const { id: keyId, key } = await operator.key(accountId, expiresAtMs);
    const readings = [
      readRest(stack, key, after),
      readGrpc(stack.publicAddress, key, after),
      readGrpc(stack.grpcAddress, key, after),
    ];
    const all = Promise.all(readings.map(({ ended }) => ended));
    all.catch(() => undefined); // awaiting it rejects
    if (end !== undefined) {
      await until(() => readings.every(({ ids }) => ids.length > 0), 'events on each stream');
      await end(operator, keyId, accountId);
    }
    return { how, readings, codes: await Promise.race([all, delay(withinMs).then(() => undefined)]) };
  });
  const results = await Promise.all(ends).finally(() => busy.abort());
  await changing;
  const expected = await listed(stack, after);
  for (const { how, readings, codes } of results) {
    t.deepEqual(codes, [undefined, status.UNAVAILABLE, status.UNAVAILABLE], `how streams ended after ${how}`);
    for (const { ids } of readings) {
      t.true(ids.length > 0, how);
      t.deepEqual(ids, expected.slice(0, ids.length), 'it misses and repeats nothing');
    }
  }
});

type Turn = () => Promise<unknown>;

/** A stream with a small window that nobody reads until `turn` has resolved. Rejects when it is reset. */
async function readLater(address: string, headers: OutgoingHttpHeaders, turn: Turn, message?: Buffer) {
  const session = connect(`http://${address}`);
  const stream = session.request(headers).on('error', () => undefined); // reading rejects
  stream.end(message);
  const pieces: Buffer[] = [];
  let trailers: IncomingHttpHeaders = {};
  stream.on('trailers', (received: IncomingHttpHeaders) => (trailers = received));
  try {
    const [{ ':status': httpStatus }] = (await once(stream, 'response')) as [
      IncomingHttpHeaders & { ':status'?: number },
    ];
    await turn();
    for await (const piece of stream) pieces.push(piece);
    return { httpStatus, body: Buffer.concat(pieces), grpcStatus: trailers['grpc-status'] };
  } finally {
    session.destroy();
  }
}

/** Opens a stream of each protocol, from the first event on. */
function openThree({ rest, publicAddress, grpcAddress }: TestStack, key: string, turn: Turn) {
  const get = { ':path': '/events/stream?after=0', authorization: `Bearer ${key}` };
  const grpc = grpcHeaders(Events.watchEvents.path, key);
  const message = grpcFrame(WatchEventsRequest.encode({ after: 0n, types: [] }).finish());
  return [
    readLater(new URL(rest.url).host, get, turn),
    readLater(publicAddress, grpc, turn, message),
    readLater(grpcAddress, grpc, turn, message),
  ] as const;
}

/** More than is held of a stream that nobody reads. */
async function fill({ rest }: TestStack): Promise<void> {
  const id = await rest.category();
  const description = '猫'.repeat(1_999);
  for (let count = 0; count < 80; count += 1) {
    await rest.put(`/categories/${id}`, { name: `${count}`, description });
  }
}

test.serial('End - a reader who lags gets what was sent, to the end of an event; later it is cut off', async (t) => {
  const { operator } = t.context;
  await fill(t.context);
  const { id, key } = await operator.key((await operator.account(FREELY)).id);
  const { promise: revoked, resolve } = Promise.withResolvers<unknown>();
  let opened = 0;
  const turnAfter = (ms: number) => async () => {
    opened += 1;
    await revoked;
    await delay(ms);
  };
  const streams = Promise.all(openThree(t.context, key, turnAfter(1_500)));
  const unread = Promise.allSettled(openThree(t.context, key, turnAfter(12_000)));
  await until(() => opened === 6, 'the streams');
  await delay(1_000); // as much as may be has been sent
  resolve(operator.call(Admin.revokeKey, { keyId: id }));
  const [rest, ...grpc] = await streams;
  const expected = await listed(t.context, 0);
  t.is(rest.httpStatus, 200);
  const text = rest.body.toString();
  t.true(text.endsWith('}\n\n'));
  const ids = [...text.matchAll(/^id: (\d+)\nevent: .+\ndata: \{.+\}\n\n/gm)].map(([, each]) => Number(each));
  t.true(ids.length > 10 && ids.length < expected.length, `${ids.length}`);
  t.deepEqual(ids, expected.slice(0, ids.length));
  for (const { body, grpcStatus } of grpc) {
    t.is(grpcStatus, String(status.UNAVAILABLE));
    const found: number[] = [];
    for (let at = 0; at < body.length; at += 5 + body.readUInt32BE(at + 1)) {
      const { event } = WatchEventsResponse.decode(body.subarray(at + 5, at + 5 + body.readUInt32BE(at + 1)));
      if (event !== undefined) found.push(Number(event.id));
    }
    t.true(found.length > 10 && found.length < expected.length, `${found.length}`);
    t.deepEqual(found, expected.slice(0, found.length));
  }
  for (const { status: outcome } of await unread) t.is(outcome, 'rejected', '5 s after the end of its key');
});
