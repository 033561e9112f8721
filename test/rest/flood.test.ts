/** Envoy refuses a flood of requests without a known key itself, by address, and nobody else notices. */
import type { OutgoingHttpHeaders } from 'node:http2';
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { status as Status } from '@grpc/grpc-js';
import type { ExecutionContext } from 'ava';
import { AdminServiceService as Admin, Plan } from '../../gen/apiplatform/admin/v1/admin.ts';
import { EventServiceService as Events } from '../../gen/petstore/v1/events.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { generateKey } from '../../src/platform/access/keys/format.ts';
import { openEvents } from '../support/calls/event-source.ts';
import {
  exchange,
  exchangeAlone,
  grpcFrame,
  grpcHeaders,
  openSession,
  rawGrpc,
  sessionOf,
  targetOf,
} from '../support/calls/http2.ts';
import { isError } from '../support/contract/errors.ts';
import { stackTest } from '../support/service/shared-stack.ts';
import type { TestStack } from '../support/service/stack.ts';
import { until, withinOneDay, withinOneMinute } from '../support/until.ts';

const BURST = 30;
/** Each worker thread of Envoy counts for itself. */
const MAX_SENT = (BURST + 5) * availableParallelism();
const MESSAGE = 'the limit of 1 per second is used up: try again in 1 s';
const METHOD = Pets.listPets.path;

/** It has what means something in Envoy's configuration and in Lua. Without it the server speaks no REST. */
const EDGE_SECRET = `%%100%REQ(X)%"\\'{{}}[[]]`;

const test = stackTest({ ADDRESS_BURST: String(BURST), ADDRESS_PER_SECOND: '1', EDGE_SECRET });

test.serial('Refused keys - are refused by their headers, and served as soon as they may be', async (t) => {
  const { publicAddress, operator } = t.context;
  const { id: accountId } = await operator.account({ perMinute: 3, perDay: 1_000 });
  const { id: keyId, key } = await operator.key(accountId);
  await withinOneMinute(20_000); // before the connection, which Envoy closes when nothing is sent
  const session = await sessionOf(t, targetOf(publicAddress, '127.0.1.5'));
  const authorization = `Bearer ${key}`;
  const send = async (headers: OutgoingHttpHeaders, sending = {}) => {
    const sent = { ':path': '/pets', authorization, ...headers };
    const { status, body, outcome } = await exchange(session, sent, { giveUpMs: 10_000, ...sending });
    return { status, code: /"code":"(\w+)"/.exec(body.toString())?.[1] ?? outcome };
  };
  /** Requests whose body does not come. */
  const rest = { ':method': 'POST', ':path': '/categories', 'content-type': 'application/json' };
  const connect = { ':method': 'POST', ':path': METHOD, 'content-type': 'application/proto' };
  const unfinished = (headers: OutgoingHttpHeaders) => send(headers, { body: Buffer.from('{'), isEnded: false });
  await until(async () => (await send({})).status === 429, 'the limit');
  t.like(await unfinished(rest), { status: 429, code: 'RATE_LIMITED' });
  t.like(await unfinished(connect), { status: 429, code: 'resource_exhausted' });
  await delay(2_000); // the grace, in which refusals ban nobody
  await until(async () => (await send({})).code === 'API_KEY_BANNED', 'the ban');
  for (const headers of [rest, { ...rest, ':method': 'GET' }]) {
    t.like(await unfinished(headers), { status: 429, code: 'API_KEY_BANNED' });
  }
  await operator.call(Admin.unbanKey, { keyId });
  await operator.call(Admin.updateAccount, { accountId, perMinute: 1_000 });
  t.is((await send(rest, { body: Buffer.from('{"name":"Served again"}') })).status, 201);
});

/** Repeats a request until it `isRefused` by Envoy. Resolves with the refusal, and with how many requests it took. */
async function flood<T>(request: () => Promise<T>, isRefused: (response: T) => boolean) {
  for (let sent = 1; sent <= MAX_SENT; sent += 1) {
    const refused = await request();
    if (isRefused(refused)) return { sent, refused };
  }
  throw new Error(`none of ${MAX_SENT} requests was refused`);
}

const hasBurst = ({ headers }: { readonly headers: Headers }) => headers.get('x-ratelimit-limit') === String(BURST);

test.serial('RATE_LIMITED - beyond the burst of an address without a key, and no earlier', async (t) => {
  const anonymous = t.context.rest.withKey(undefined);
  const { sent, refused } = await flood(() => anonymous.get('/pets'), hasBurst);
  t.true(sent > BURST);
  isError(t, refused, 429, 'RATE_LIMITED', MESSAGE);
  t.is(refused.headers.get('retry-after'), '1');
  t.is(refused.headers.get('x-ratelimit-remaining'), '0');
  t.true(Math.abs(Number(refused.headers.get('x-ratelimit-reset')) - Date.now() / 1_000) < 5);
  const { ratelimit, 'ratelimit-policy': policy } = Object.fromEntries(refused.headers);
  t.deepEqual([policy, ratelimit], [`"burst";q=${BURST};w=${BURST}`, '"burst";r=0;t=1']); // one more each second
});

test.serial('RATE_LIMITED - beyond the same burst of an account over its limit, over REST and gRPC', async (t) => {
  const { rest, operator, publicAddress } = t.context;
  const keyOf = () => operator.keyOf({ perMinute: 2, perDay: 10 });
  const [restKey, grpcKey] = await Promise.all([keyOf(), keyOf()]);
  isError(t, (await flood(() => rest.withKey(restKey).get('/pets'), hasBurst)).refused, 429, 'RATE_LIMITED', MESSAGE);
  const session = await sessionOf(t, targetOf(publicAddress, '127.0.1.9'));
  const call = () => exchange(session, grpcHeaders(METHOD, grpcKey), { body: grpcFrame() });
  t.is((await flood(call, hasBurst)).refused.headers.get('grpc-status'), String(Status.RESOURCE_EXHAUSTED));
});

test.serial('Streams - beyond 60 refusals at once it is RATE_LIMITED, soon by Envoy alone, and no ban', async (t) => {
  const { rest, operator, publicAddress } = t.context;
  await withinOneDay(60_000);
  const session = await sessionOf(t, targetOf(publicAddress, '127.0.1.10'));
  const opening = { ':path': '/events/stream' };
  for (const path of [undefined, Events.watchEvents.path]) {
    const key = await operator.keyOf({ perMinute: 1_000, perDay: 100 });
    const authorization = `Bearer ${key}`;
    const streams = Array.from({ length: 10 }, () => openEvents(`${rest.url}/events/stream`, key));
    for (const { response } of await Promise.all(streams)) t.is(response.status, 200);
    const refusedBy: (string | null)[] = [];
    for (let count = 0; count < 300 && refusedBy.at(-1) !== String(BURST); count += 1) {
      const sent = path === undefined ? { ...opening, authorization } : grpcHeaders(path, key);
      const { status, headers } = await exchange(session, sent, { body: path === undefined ? [] : grpcFrame() });
      t.is(headers.get('grpc-status') ?? String(status), path === undefined ? '429' : '8');
      refusedBy.push(headers.get('x-ratelimit-limit'));
    }
    t.deepEqual(new Set(refusedBy.slice(0, 60)), new Set(['100']), 'TOO_MANY_STREAMS, with the numbers of the account');
    t.true(refusedBy.includes('60'), 'RATE_LIMITED by the server');
    t.is(refusedBy.at(-1), String(BURST), 'RATE_LIMITED by Envoy');
    const caller = rest.withKey(key);
    const served = await until(async () => {
      const response = await caller.get('/events?limit=1');
      return response.status === 200 && response;
    }, 'the end of the refusals');
    t.is(served.headers.get('x-ratelimit-remaining'), '89', 'refusals count nothing');
    for (const stream of streams) (await stream).close();
  }
});

test.serial('RATE_LIMITED - beyond the same burst of an address with a made-up key, over REST and gRPC', async (t) => {
  for (const [index, headers] of [{ ':path': '/pets' }, grpcHeaders(METHOD)].entries()) {
    const session = await sessionOf(t, targetOf(t.context.publicAddress, `127.0.2.${index + 1}`));
    const sent = { ...headers, authorization: `Bearer ${generateKey()}` };
    t.true((await flood(() => exchange(session, sent), hasBurst)).sent > BURST);
  }
});

test.serial('Revoked keys - have the burst of an address, as after a suspension; valid ones stay known', async (t) => {
  const { operator, publicAddress } = t.context;
  const valid = await operator.keyOf(Plan.PLAN_BUSINESS);
  const connect = { ...grpcHeaders(METHOD), 'content-type': 'application/proto' };
  for (const [index, headers] of [{ ':path': '/pets' }, connect, grpcHeaders(METHOD)].entries()) {
    const session = await sessionOf(t, targetOf(publicAddress, `127.0.3.${index + 1}`));
    const send = (key: string, more: OutgoingHttpHeaders = headers) =>
      exchange(session, { ...more, authorization: `Bearer ${key}` });
    const { id: accountId } = await operator.account(Plan.PLAN_BUSINESS);
    const [revoked, suspended] = [await operator.key(accountId), await operator.key(accountId)];
    for (const key of [valid, revoked.key, suspended.key]) t.is((await send(key)).status, 200);
    await operator.call(Admin.revokeKey, { keyId: revoked.id });
    await flood(() => send(revoked.key), hasBurst);
    await operator.call(Admin.suspendAccount, { accountId });
    t.false(hasBurst(await send(suspended.key)), 'the server refuses it');
    await flood(() => send(suspended.key), hasBurst);
    // If it were not known it would have no more than the one request of each second.
    const refusals: OutgoingHttpHeaders[] = [
      { ':path': '/pets/999999' },
      { ':path': '/pets', ':method': 'POST', 'content-encoding': 'gzip' },
      { ...grpcHeaders(METHOD), 'grpc-timeout': '1n' },
    ];
    for (const more of refusals) t.false(hasBurst(await send(valid, more)));
    for (let count = 0; count < 5; count += 1) t.is((await send(valid)).headers.get('x-ratelimit-limit'), '1000000');
  }
});

/** Sends calls of this type until Envoy refuses one. Resolves with the refusal. */
async function refusalOf(t: ExecutionContext<TestStack>, type: string, status: number): Promise<Response> {
  const [url, headers] = [`${t.context.rest.url}${METHOD}`, { 'content-type': type }];
  const { refused } = await flood(() => fetch(url, { method: 'POST', headers, body: 'AAAAAAA=' }), hasBurst);
  t.is(refused.status, status);
  return refused;
}

test.serial('RATE_LIMITED - has the shape of the protocol: Connect, gRPC, gRPC-Web in binary and text', async (t) => {
  const connect = await (await refusalOf(t, 'application/proto', 429)).json();
  t.like(connect, { code: 'resource_exhausted', message: MESSAGE });

  const target = targetOf(t.context.publicAddress, '127.0.1.2');
  const { refused } = await flood(() => rawGrpc(target, { path: METHOD }), hasBurst);
  t.like(refused, { status: Status.RESOURCE_EXHAUSTED, message: MESSAGE, reason: 'RATE_LIMITED' });
  t.is(refused.headers.get('grpc-retry-pushback-ms'), '1000');

  for (const [sent, type] of Object.entries({
    'application/GRPC': 'application/grpc',
    'application/grpc-web-text; charset=utf-8': 'application/grpc-web-text',
  })) {
    const { headers } = await refusalOf(t, sent, 200);
    t.is(headers.get('content-type'), type); // without it clients in Go and Dart see no error of this service
    t.deepEqual([headers.get('grpc-status'), headers.get('grpc-message')], ['8', encodeURI(MESSAGE)]);
  }
});

test.serial('A flood - costs callers with a key nothing, nor other addresses, nor health and docs', async (t) => {
  const { rest, publicAddress } = t.context;
  const anonymous = rest.withKey(undefined);
  await flood(() => anonymous.get('/pets'), hasBurst);
  for (let count = 0; count < MAX_SENT; count += 1) t.is((await rest.get('/pets')).status, 200);
  isError(t, await rest.withKey(generateKey()).get('/pets'), 401, 'API_KEY_INVALID');
  t.is((await exchangeAlone(targetOf(publicAddress, '127.0.1.3'), { ':path': '/pets' })).status, 401);
  for (const path of ['/healthz', '/docs']) t.is((await anonymous.get(path)).status, 200);
  await flood(() => anonymous.get('/healthz'), hasBurst);
  t.is((await rest.get('/pets')).status, 200);
});

test.serial('Many callers - that begin at once with one valid key are all served', async (t) => {
  const authorization = `Bearer ${await t.context.operator.keyOf(Plan.PLAN_BUSINESS)}`;
  const target = targetOf(t.context.publicAddress, '127.5.0.1');
  const sessions = await Promise.all(Array.from({ length: 300 }, () => openSession(target)));
  const answers = await Promise.all(sessions.map((session) => exchange(session, { ':path': '/pets', authorization })));
  for (const session of sessions) session.destroy();
  const statuses = Object.groupBy(answers, ({ status }) => String(status));
  t.deepEqual(Object.keys(statuses), ['200']);
});
