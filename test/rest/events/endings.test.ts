/** How streams of events end: cleanly between two events, so that who resumes misses and repeats nothing. */
import { setTimeout as delay } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { AdminServiceService as Admin } from '../../../gen/apiplatform/admin/v1/admin.ts';
import { openEvents } from '../../support/calls/event-source.ts';
import type { Operator } from '../../support/calls/operator.ts';
import { readAll } from '../../support/calls/pages.ts';
import { watchEvents } from '../../support/calls/watch-events.ts';
import { stackTest } from '../../support/service/shared-stack.ts';
import type { TestStack } from '../../support/service/stack.ts';
import { until } from '../../support/until.ts';

/** Longer than streams go on after the end of their key, so that the one does not pass for the other. */
const MAX_AGE_SECONDS = 16;
const PAUSE_MS = 5;

const test = stackTest({ EVENT_STREAM_SECONDS: String(MAX_AGE_SECONDS) });

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

test('End - within 5 s of the end of its key, or at its maximum age, cleanly between two events', async (t) => {
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
