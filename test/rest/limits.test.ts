/** Limits, keys, plans and streams of an account through Envoy, on REST and gRPC. */
import { status as Status } from '@grpc/grpc-js';
import { AdminServiceService as Admin, Plan } from '../../gen/apiplatform/admin/v1/admin.ts';
import { HealthCheckResponse_ServingStatus as Health, HealthService } from '../../gen/grpc/health/v1/health.ts';
import { EventServiceService as Events } from '../../gen/petstore/v1/events.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { type EventSource, openEvents, watchEvents } from '../support/calls/event-source.ts';
import { detailsOf } from '../support/calls/grpc.ts';
import type { RestResponse } from '../support/calls/rest-client.ts';
import { isError } from '../support/contract/errors.ts';
import { change } from '../support/machine/database.ts';
import { reflectedMethods } from '../support/service/reflection.ts';
import { stackTest } from '../support/service/shared-stack.ts';
import { until, withinOneDay, withinOneMinute } from '../support/until.ts';

const test = stackTest({ ADDRESS_PER_MINUTE: '60' });
test.beforeEach(() => withinOneDay(30_000));

function numbers({ headers }: RestResponse): number[] {
  return ['limit', 'remaining', 'reset'].map((name) => Number(headers.get(`x-ratelimit-${name}`) ?? Number.NaN));
}

/** First: another test uses up what the address has. */
test.serial('limits - health checks, reflection and /healthz need no key and count nothing', async (t) => {
  await withinOneMinute(20_000);
  const { rest, grpc, publicAddress } = t.context;
  const anonymous = rest.withKey(undefined);
  const leftOfAddress = async () => numbers(await anonymous.get('/pets'))[1];
  t.is(await leftOfAddress(), 59);
  for (let i = 0; i < 5; i += 1) {
    t.is((await anonymous.get('/healthz')).status, 200);
    t.true((await reflectedMethods(publicAddress, 'v1')).length > 0);
    t.is((await grpc.withKey(undefined).call(HealthService.check, { service: '' })).status, Health.SERVING);
  }
  t.is(await leftOfAddress(), 58);
});

test('limits - every response shows limit, remaining and reset, also responses by Envoy', async (t) => {
  const { rest: demo, operator } = t.context;
  const { id } = await operator.account({ perMinute: 1_000, perDay: 12 });
  const rest = demo.withKey((await operator.key(id)).key);
  const categoryId = await demo.category();
  const gone = await demo.pet({ categoryId });
  const json = { 'content-type': 'application/json' };
  const sameId = { 'x-request-id': '01234567-89ab-4cde-8f01-23456789abcd' }; // of one id Redis counts one request
  const calls: [status: number, send: () => Promise<RestResponse>][] = [
    [200, () => rest.get('/pets', { headers: sameId })],
    [200, () => rest.send('HEAD', '/pets', { headers: sameId })],
    [201, () => rest.post('/pets', { name: 'Tom', categoryId })],
    [204, () => rest.delete(`/pets/${gone}`)],
    [400, () => rest.post('/pets', {})],
    [400, () => rest.send('POST', '/pets', { raw: '{', headers: json })], // errors by Envoy from here …
    [400, () => rest.get('/pets/abc')],
    [404, () => rest.get('/nope')],
    [405, () => rest.put('/pets', {})],
    [413, () => rest.send('POST', '/pets', { raw: ' '.repeat(1_048_577), headers: json })], // … to here
    [404, () => rest.get('/pets/999999')],
    [409, () => rest.delete(`/categories/${categoryId}`)],
  ];
  const midnight = Math.ceil(Date.now() / 86_400_000) * 86_400;
  for (const [i, [status, send]] of calls.entries()) {
    const response = await send();
    t.is(response.status, status);
    t.deepEqual(numbers(response), [12, 11 - i, midnight], response.text); // each counts once
    t.not(response.headers.get('x-request-id'), sameId['x-request-id']);
  }
  for (const path of ['/pets', '/nope']) t.is((await rest.get(path)).status, 429, 'before the route');
  const large = { raw: ' '.repeat(65_537), headers: json };
  t.is((await rest.send('POST', '/pets', large)).status, 429, 'before the size of the body');
  const day = new Date().toISOString().slice(0, 10);
  t.deepEqual(await operator.usage(id), [{ day, requests: 12n, refused: 3n }]);
});

/** The two fields of the IETF's draft, with `t` for the seconds until a minute or a day ends. */
function drafted({ headers }: RestResponse): (string | null)[] {
  const seconds = { minute: 60 - Math.floor((Date.now() / 1_000) % 60), day: 86_400 };
  const left = headers.get('ratelimit')?.replace(/"(minute|day)";r=(\d+);t=(\d+)/g, (_, window, r, t) => {
    const most = seconds[window as keyof typeof seconds] + 2;
    return `${window} ${r}${Number(t) >= 1 && Number(t) <= most ? '' : ` not ${t}`}`;
  });
  return [headers.get('ratelimit-policy'), left ?? null];
}

test.serial('limits - RateLimit and RateLimit-Policy tell of both windows; of an address, of its minute', async (t) => {
  await withinOneMinute(10_000);
  const rest = t.context.rest.withKey(await t.context.operator.keyOf({ perMinute: 2, perDay: 12 }));
  const policy = '"minute";q=2;w=60, "day";q=12;w=86400';
  t.deepEqual(drafted(await rest.get('/pets')), [policy, 'minute 1, day 11']);
  t.deepEqual(drafted(await rest.get('/nope')), [policy, 'minute 0, day 10']);
  t.deepEqual(drafted(await rest.get('/pets')), [policy, 'minute 0, day 10']);
  const [anonymous, left = ''] = drafted(await rest.withKey(undefined).get('/pets'));
  t.is(anonymous, '"minute";q=60;w=60');
  t.regex(left ?? '', /^minute \d+$/);
});

test('limits - without a valid key it is a 401 with the numbers of the address, then a 429', async (t) => {
  const anonymous = t.context.rest.withKey(undefined);
  for (const rest of [anonymous, anonymous.withKey('nonsense')]) {
    const response = await rest.get('/pets');
    t.is(response.status, 401);
    t.is(numbers(response)[0], 60);
  }
  await withinOneMinute(20_000);
  const statuses: number[] = [];
  for (let i = 0; i < 150; i += 1) statuses.push((await anonymous.get('/nope')).status);
  t.true(statuses.filter((status) => status === 401).length <= 120); // two minutes at most
  const refused = await anonymous.get('/nope');
  t.is(refused.body.code, 'RATE_LIMITED');
  t.regex(refused.headers.get('retry-after') ?? '', /^[1-9]\d?$/);
  t.is((await t.context.rest.get('/pets')).status, 200); // a valid key from the same address is not affected
});

test('limits - on gRPC the numbers are metadata, on success and on error', async (t) => {
  const { grpc, operator } = t.context;
  const caller = grpc.withKey(await operator.keyOf({ perMinute: 100, perDay: 2 }));
  const { headers } = await caller.exchange(Pets.listPets, { ids: [], pageToken: '' });
  t.deepEqual([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')], [['2'], ['1']]);
  t.deepEqual(headers.get('ratelimit-policy'), ['"minute";q=100;w=60, "day";q=2;w=86400']);
  t.regex(String(headers.get('ratelimit')), /^"minute";r=99;t=\d+, "day";r=1;t=\d+$/);
  const missing = await caller.failure(Pets.getPet, { petId: 999_999n });
  t.deepEqual([missing.reason, ...missing.metadata.get('x-ratelimit-remaining')], ['PET_NOT_FOUND', '0']);
  const { metadata, reason } = await caller.failure(Pets.getPet, { petId: 1n });
  t.is(reason, 'RATE_LIMITED');
  const [retryAfter] = metadata.get('retry-after');
  t.deepEqual(metadata.get('grpc-retry-pushback-ms'), [`${retryAfter}000`]);
  const { retryInfo, quotaFailure } = detailsOf({ metadata });
  t.is(retryInfo?.retryDelay?.seconds, BigInt(String(retryAfter)));
  t.regex(quotaFailure?.violations[0]?.subject ?? '', /^account:\d+$/);
});

test('Idempotency-Key - a replay counts against the limits like any request, and is refused beyond them', async (t) => {
  const caller = t.context.rest.withKey(await t.context.operator.keyOf({ perMinute: 1_000, perDay: 2 }));
  const create = () => caller.send('POST', '/store/orders', { headers: { 'idempotency-key': 'a-replay-counts' } });
  const responses = [await create(), await create(), await create()];
  const answers = responses.map(({ status }) => status);
  t.deepEqual(answers, [201, 201, 429]);
  t.is(responses[1]?.headers.get('idempotency-replayed'), 'true');
});

test('keys - the keys of a suspended account get a 401 with the reason, until it is resumed', async (t) => {
  const { rest, operator } = t.context;
  const { id: accountId } = await operator.account(Plan.PLAN_FREE);
  const caller = rest.withKey((await operator.key(accountId)).key);
  t.is((await caller.get('/pets')).status, 200);
  t.true((await operator.call(Admin.suspendAccount, { accountId })).suspended);
  const { status, body } = await caller.get('/pets');
  t.deepEqual(body, { code: 'API_KEY_INVALID', message: 'the API key is not valid: its account is suspended', status });
  t.false((await operator.call(Admin.resumeAccount, { accountId })).suspended);
  t.is((await caller.get('/pets')).status, 200);
});

test.serial('after - an id that is not kept is 410 EVENTS_EXPIRED, one not reached EVENT_NOT_REACHED', async (t) => {
  const { rest, config, grpc } = t.context;
  for (let count = 0; count < 3; count += 1) await rest.category();
  const newest = (await rest.get('/events?limit=100')).body.at(-1).id;
  change(config.dataDir, 'DELETE FROM events WHERE id < (SELECT max(id) FROM events)');
  for (const path of ['/events', '/events/stream']) {
    const expired = await rest.get(`${path}?after=${newest - 2}`);
    isError(t, expired, 410, 'EVENTS_EXPIRED');
    t.is(expired.headers.get('cache-control'), 'no-store', 'a browser would keep it without end');
    for (const after of [0, newest - 1, newest]) t.is((await rest.send('HEAD', `${path}?after=${after}`)).status, 200);
    isError(t, await rest.get(`${path}?after=${newest + 1}`), 400, 'EVENT_NOT_REACHED');
  }
  const ahead = await grpc.failure(Events.listEvents, { after: 999_999n });
  t.deepEqual([ahead.code, ahead.reason], [Status.INVALID_ARGUMENT, 'EVENT_NOT_REACHED']);
});

const MAX_STREAMS = 10;
const LIMIT = 1_000;

test('Streams - an account has at most 10: the 11th is 429 TOO_MANY_STREAMS, over REST and gRPC', async (t) => {
  const { rest, publicAddress, operator } = t.context;
  await withinOneMinute(20_000);
  const key = await operator.keyOf({ perMinute: LIMIT, perDay: LIMIT });
  const caller = rest.withKey(key);
  const url = `${rest.url}/events/stream`;
  const open: EventSource[] = [];
  for (let count = 1; count <= MAX_STREAMS; count += 1) {
    const stream = await openEvents(url, key);
    t.is((await stream.next())?.event, 'ready');
    const remaining = Number(stream.response.headers.get('x-ratelimit-remaining'));
    t.is(remaining, LIMIT - count, 'opening a stream counts as one request');
    open.push(stream);
  }
  for (let count = 0; count < 25; count += 1) {
    // 20 refusals that count are a ban
    const refused = await caller.get('/events/stream');
    isError(t, refused, 429, 'TOO_MANY_STREAMS');
    t.true(Number(refused.headers.get('retry-after')) >= 1);
    t.is(refused.headers.get('x-ratelimit-remaining'), String(LIMIT - MAX_STREAMS), 'it counts nothing');
  }
  const error = await watchEvents(publicAddress, key).ended;
  if (error === undefined) return t.fail('it is open');
  t.is(detailsOf(error).errorInfo?.reason, 'TOO_MANY_STREAMS');
  t.is((await caller.get('/events?limit=1')).status, 200, 'it counts towards no ban');
  await rest.category();
  await open[0]?.take(1);
  t.is(numbers(await caller.get('/events?limit=1'))[1], LIMIT - MAX_STREAMS - 2, 'events count nothing');
  open.pop()?.close();
  const isOpen = async () => (await caller.send('HEAD', '/events/stream')).status === 200;
  await until(isOpen, 'a stream in place of the one that ended');
  for (const stream of open) stream.close();
});
