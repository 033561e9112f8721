/** The list of events, streams of them, and how these end: who resumes misses and repeats nothing. */
import { setTimeout as delay } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { AdminServiceService as Admin } from '../../gen/apiplatform/admin/v1/admin.ts';
import { openEvents, watchEvents } from '../support/calls/event-source.ts';
import type { Operator } from '../support/calls/operator.ts';
import { nextOf, readAll, walk } from '../support/calls/rest-client.ts';
import { isError, isInvalid } from '../support/contract/errors.ts';
import { stackTest } from '../support/service/shared-stack.ts';
import type { TestStack } from '../support/service/stack.ts';
import { until } from '../support/until.ts';

/** Longer than streams go on after the end of their key, and than one is silent. */
const MAX_AGE_SECONDS = 20;

const test = stackTest({ EVENT_STREAMS: '100', EVENT_STREAM_SECONDS: String(MAX_AGE_SECONDS) });
test.serial.before(async (t) => void (await t.context.rest.category()));

const newest = async ({ rest }: TestStack) => (await readAll<{ id: number }>(rest, '/events')).at(-1)?.id ?? 0;
const urlOf = ({ rest }: TestStack, query = '') => `${rest.url}/events/stream${query}`;

// The tests of the list run before the others, which write meanwhile.
test.serial('GET /events - types selects; while there is more, Link is the next page', async (t) => {
  const { rest } = t.context;
  const after = await newest(t.context);
  for (let index = 0; index < 5; index += 1) await rest.category(`${index}`);
  await rest.delete(`/pets/${await rest.pet({ categoryId: 1 })}`);
  const path = '/events?types=category.created&types=pet.deleted&limit=2&after=';
  const pages = await walk<{ type: string }>(rest, path + after);
  const types = pages.map((page) => page.map(({ type }) => type));
  const created = ['category.created', 'category.created'];
  t.deepEqual(types, [created, created, ['category.created', 'pet.deleted']]);
  const next = nextOf((await rest.get(path + after)).headers) ?? '';
  t.true(next.startsWith(path) && /=\d+$/.test(next), next);
});

const LIST = '/events?';
const STREAM = '/events/stream?';

test('Parameters - what is no id, or not reached, is a 400 that names it; so is an unknown parameter', async (t) => {
  const { rest } = t.context;
  const noIds = ['-1', 'x', '1.5', '9223372036854775808', ''];
  for (const path of [LIST, STREAM]) {
    for (const after of [...noIds.map((id) => `after=${id}`), 'after', 'after=0&after=1'])
      isInvalid(t, await rest.get(path + after), 'after');
    for (const after of ['999999999', '9223372036854775807'])
      isError(t, await rest.get(`${path}after=${after}`), 400, 'EVENT_NOT_REACHED', /^after: /);
    const unknown = await rest.get(`${path}types=pet`);
    isInvalid(t, unknown, 'types[0]');
    t.regex(unknown.body.message, /^types.0.: is none of pet.created, pet.updated,/);
  }
  for (const [path, name] of [
    [`${LIST}limit=101`, 'limit'],
    [`${LIST}lastEventId=0`, 'lastEventId'],
    [`${STREAM}limit=1`, 'limit'],
    ...[...noIds, '01'].map((id) => [`${STREAM}lastEventId=${id}`, 'lastEventId'] as const),
  ] as const)
    isInvalid(t, await rest.get(path), name);
  isError(t, await rest.get(`${STREAM}after=0&lastEventId=999999999`), 400, 'EVENT_NOT_REACHED');
  const sent = (id: string) => rest.send('HEAD', STREAM, { headers: { 'last-event-id': id } });
  for (const id of ['0', '01', '', ' ']) t.is((await sent(id)).status, 200, 'an empty one is none');
  for (const id of ['x', '-1', '+1', '1.0', '1 1', '1,1', '9'.repeat(5_000), '1é', '²'])
    t.is((await sent(id)).status, 400, id.slice(0, 30));
});

test('Stream - ready comes first, then events, with U+0085, U+2028 and U+2029 escaped for any reader', async (t) => {
  const { key, rest } = t.context;
  const stream = await openEvents(urlOf(t.context, '?types=category.created'), key);
  t.is(stream.response.status, 200);
  for (let count = 0; count < 11; count += 1) {
    t.like(await rest.send('HEAD', '/events/stream'), { status: 200, text: '' }); // each ends: ten may be open
  }
  t.is(stream.response.headers.get('content-type'), 'text/event-stream');
  t.regex(stream.response.headers.get('x-ratelimit-remaining') ?? '', /^\d+$/);
  const ready = await stream.next();
  t.deepEqual([ready?.event, ready?.retry], ['ready', '2000']);
  t.true(Number(ready?.id) >= 1);
  const written = { name: 'Cats "quoted" \u{1f408} a\u2028b\u2029c', description: '\v\f\u0085\u2028\u2029\\u2028' };
  const { id } = (await rest.post('/categories', written)).body;
  let created = await stream.next();
  while (created?.data?.category?.id !== id) created = await stream.next();
  t.deepEqual([created?.event, created?.id], ['category.created', String(created?.data.id)]);
  t.deepEqual(created?.data.category, { id, ...written });
  t.deepEqual(Object.keys(created?.data), ['id', 'type', 'time', 'category']);
  t.regex(created?.data.time, /T..:..:..\.\d{3}Z$/);
  stream.close();
});

test('Stream - goes on after Last-Event-ID, else lastEventId, else after; with none it begins now', async (t) => {
  const { key, rest } = t.context;
  const petId = await rest.pet({});
  for (let quantity = 1; quantity <= 3; quantity += 1) await rest.put(`/store/inventory/${petId}`, { quantity });
  const ofPet = async (query: string, count: number, headers = {}) => {
    const stream = await openEvents(urlOf(t.context, `?types=pet.updated&after=${query}`), key, headers);
    const found: Awaited<ReturnType<typeof stream.take>> = [];
    while (found.length < count) found.push(...(await stream.take(1)).filter(({ data }) => data.pet.id === petId));
    stream.close();
    return found;
  };
  const quantities = (events: Awaited<ReturnType<typeof ofPet>>) => events.map(({ data }) => data.inventory.quantity);
  const [first, second, third] = await ofPet('0', 3);
  t.deepEqual(quantities(await ofPet(`${first?.id}`, 2)), [2, 3]);
  t.deepEqual(quantities(await ofPet(`${first?.id}`, 1, { 'last-event-id': String(second?.id) })), [3]);
  t.deepEqual(quantities(await ofPet(`0&lastEventId=${second?.id}`, 1)), [3]);
  t.deepEqual(quantities(await ofPet(`0&lastEventId=0`, 1, { 'last-event-id': String(second?.id) })), [3]);
  const now = await openEvents(urlOf(t.context, '?types=pet.updated'), key);
  t.true(Number((await now.next())?.id) >= Number(third?.id), 'with none it begins now');
  now.close();
});

test('Stream - a comment comes every 15 s while nothing happens, and tells how far the feed has come', async (t) => {
  t.timeout(60_000);
  const stream = await openEvents(urlOf(t.context, '?types=order.deleted'), t.context.key);
  const ready = await stream.next();
  const beganMs = performance.now();
  const comment = await stream.next();
  t.not(comment?.comment, undefined);
  t.true(Number(comment?.id) >= Number(ready?.id));
  const tookMs = performance.now() - beganMs;
  t.true(tookMs > 14_000, `${tookMs}`);
  stream.close();
});

/** Changes the shop until it is told to stop. Some events are large. */
async function changeAll({ rest }: TestStack, signal: AbortSignal): Promise<void> {
  const id = await rest.category();
  for (let count = 0; !signal.aborted; count += 1) {
    await rest.put(`/categories/${id}`, { name: `${count}`, description: '猫'.repeat((count % 5) * 400) });
    await delay(5);
  }
}

/** `ids` are those so far. `ended` is undefined for the clean end of a body, and rejects when it breaks. */
function readRest({ rest }: TestStack, key: string, after: number) {
  const ids: number[] = [];
  const read = async (): Promise<undefined> => {
    const stream = await openEvents(`${rest.url}/events/stream?after=${after}`, key);
    if (stream.response.status !== 200) throw new Error(await stream.response.text());
    for (let event = await stream.next(); event !== undefined; event = await stream.next()) {
      if (event.data?.id !== undefined) ids.push(event.data.id);
    }
    return undefined;
  };
  return { ids, ended: read() };
}

async function listed({ rest }: TestStack, after: number): Promise<number[]> {
  const ids = (await readAll<{ id: number }>(rest, '/events')).map(({ id }) => id);
  return ids.filter((id) => id > after);
}

const WITHIN_MS = 5_000;
/** Longer than it takes to open the streams on a slow machine. */
const EXPIRY_MS = 10_000;
const FREELY = { perMinute: 100_000, perDay: 100_000 };

type End = (operator: Operator, keyId: bigint, accountId: bigint) => Promise<unknown>;

/** What ends a stream, if it does not end by itself, and how long that takes from then on, or since it was opened. */
const ENDINGS: readonly (readonly [how: string, withinMs: number, end?: End])[] = [
  ['revocation', WITHIN_MS, (operator, keyId) => operator.call(Admin.revokeKey, { keyId })],
  ['suspension', WITHIN_MS, (operator, _, accountId) => operator.call(Admin.suspendAccount, { accountId })],
  ['expiry', EXPIRY_MS + WITHIN_MS],
  ['the maximum age', MAX_AGE_SECONDS * 1_000 + WITHIN_MS],
];

test('End - within 5 s of the end of its key, or at its maximum age, cleanly between two events', async (t) => {
  const stack = t.context;
  const { operator } = stack;
  const busy = new AbortController();
  const changing = changeAll(stack, busy.signal);
  const after = (await listed(stack, 0)).at(-1) ?? 0;
  const ends = ENDINGS.map(async ([how, withinMs, end]) => {
    const { id: accountId } = await operator.account(FREELY);
    const expiresAtMs = how === 'expiry' ? Date.now() + EXPIRY_MS : undefined;
    const { id: keyId, key } = await operator.key(accountId, expiresAtMs);
    const readings = [
      readRest(stack, key, after),
      watchEvents(stack.publicAddress, key, { after: BigInt(after) }),
      watchEvents(stack.grpcAddress, key, { after: BigInt(after) }),
    ];
    const all = Promise.all(readings.map(async ({ ended }) => (await ended)?.code));
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
