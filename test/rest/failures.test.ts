/** What callers see when the server or Envoy fails or ends: each test has a stack of its own. */
import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { status as Status } from '@grpc/grpc-js';
import test from 'ava';
import { readConfig } from '../../src/platform/config/config.ts';
import { apiError } from '../../src/platform/errors.ts';
import { findEnvoy } from '../../src/platform/launcher/envoy.ts';
import { startStack } from '../../src/platform/launcher/stack.ts';
import { call } from '../support/calls/connect-client.ts';
import { grpcFrame, rawGrpc } from '../support/calls/http2.ts';
import type { RestClient, RestResponse } from '../support/calls/rest-client.ts';
import { isError, isUnavailable } from '../support/contract/errors.ts';
import { change } from '../support/machine/database.ts';
import { temporaryFolder } from '../support/scope.ts';
import { startTestStack, type TestStack } from '../support/service/stack.ts';
import { until, withinOneDay } from '../support/until.ts';

const GET_PET = { path: '/petstore.v1.PetService/GetPet' };

const callOverConnect = (stack: TestStack) => call(stack, GET_PET.path, Buffer.of());

test('500 - INTERNAL does not contain the cause, which is logged with the request id', async (t) => {
  const { config, rest } = await startTestStack(t);
  const log = () => readFile(`${config.dataDir}/logs/server.log`, 'utf8');
  change(config.dataDir, 'ALTER TABLE orders RENAME TO misplaced');
  for (const method of ['GET', 'POST']) {
    const response = await rest.send(method, '/store/orders');
    const requestId = response.headers.get('x-request-id') ?? '';
    isError(t, response, 500, 'INTERNAL', `something went wrong on our side; request id ${requestId}`);
    const lines = (await log()).split('\n').filter((line) => line.includes(requestId));
    // A request with a body is judged in a separate call before, with the same request id.
    const { outcome, level, err } = JSON.parse(lines.at(-1) ?? '{}');
    t.deepEqual([outcome, level], ['INTERNAL', 50]);
    t.regex(err.message, /no such table: orders/);
  }
  t.is((await rest.get('/pets')).status, 200); // other requests succeed
  const requestId = (await rest.get('/pets/abc')).headers.get('x-request-id');
  const refused = `"requestId":"${requestId}","method":"/apiplatform.edge.v1.EdgeService/Refuse"`;
  await until(async () => (await log()).includes(refused), 'the line of an error that Envoy has found');
});

test('504 - what gets no response in time is DEADLINE_EXCEEDED, also HEAD and unsent gRPC messages', async (t) => {
  const program = fileURLToPath(new URL('./mute-server.ts', import.meta.url));
  const stack = await startTestStack(t, {}, { program });
  const { rest, key, publicAddress } = stack;
  const [read, nowhere, change, head, connect, grpc, late, web] = await Promise.all([
    rest.get('/categories/1'),
    rest.get('/nowhere'),
    rest.post('/categories', { name: 'Dogs' }),
    rest.send('HEAD', '/categories/1'),
    callOverConnect(stack),
    ...[
      { isEnded: false },
      { body: grpcFrame() },
      { body: grpcFrame(), headers: { 'content-type': 'application/grpc-web; x=y' } },
    ].map((sent) => rawGrpc(publicAddress, { ...GET_PET, key, ...sent })),
  ]);
  const message = 'the request was not answered in time';
  for (const response of [read, nowhere, change]) {
    isError(t, response, 504, 'DEADLINE_EXCEEDED', message);
    t.false(response.headers.has('location'));
  }
  t.deepEqual([head.status, connect.status], [504, 504]);
  t.like(JSON.parse(String(connect.body)), { code: 'deadline_exceeded', message });
  t.like(grpc, { status: Status.DEADLINE_EXCEEDED, message: apiError('REQUEST_TIMEOUT').message });
  for (const call of [late, web])
    t.like(call, { status: Status.DEADLINE_EXCEEDED, message, reason: 'DEADLINE_EXCEEDED' });
  // This method begins its response and disconnects: the caller sees nothing of it.
  isUnavailable(t, await rest.get('/store/inventory'));
});

test('503 - under memory pressure every request is UNAVAILABLE with Retry-After', async (t) => {
  const folder = temporaryFolder(t);
  // An Envoy that takes no request from the beginning: its overload manager responds, without asking the server.
  const binary = findEnvoy(readConfig({ ENVOY: process.env.ENVOY }));
  const script = `#!/bin/sh\nsed -i 's/value: 0.98/value: 0.001/' "$2"\nexec ${binary} "$@"\n`;
  await writeFile(`${folder}/envoy`, script, { mode: 0o700 });
  const stack = await startTestStack(t, { ENVOY: `${folder}/envoy` });
  const { rest, publicAddress } = stack;
  await until(async () => (await rest.get('/healthz')).status === 503, 'the pressure');
  for (const path of ['/pets', '/healthz']) isUnavailable(t, await rest.get(path));
  isUnavailable(t, await rest.post('/pets', {}));
  t.is((await callOverConnect(stack)).status, 503);
  for (const type of ['application/grpc', 'application/grpc; x=y', 'application/grpc-web']) {
    const sent = { ...GET_PET, headers: { 'content-type': type } };
    const { status, reason, headers } = await rawGrpc(publicAddress, sent);
    t.deepEqual([status, reason], [Status.UNAVAILABLE, 'UNAVAILABLE'], type);
    t.is(headers.get('grpc-retry-pushback-ms'), '1000');
    for (const name of headers.keys()) t.false(name.startsWith('x-petstore'), name);
  }
});

function untilStatus(rest: RestClient, path: string, status: number): Promise<RestResponse> {
  const look = async () => {
    const response = await rest.get(path);
    return response.status === status && response;
  };
  return until(look, `GET ${path} ${status}`);
}

test('503 - while no server accepts calls, each request is UNAVAILABLE with Retry-After', async (t) => {
  const { rest, stack } = await startTestStack(t);
  const anonymous = rest.withKey(undefined);
  const id = await rest.category();
  const headers = { 'content-type': 'application/json' };
  stack.servers[0]?.send('drain');
  // Each thread of Envoy, and each of its clusters, detects it at a different time.
  const ask = () => [anonymous.get('/healthz'), anonymous.get('/categories'), rest.get(`/categories/${id}`)];
  const onAllThreads = async () => {
    const responses = await Promise.all(Array.from({ length: 20 }, ask).flat());
    return responses.every(({ status }) => status === 503);
  };
  await until(onAllThreads, 'the change at all threads of Envoy');

  for (const response of [
    await anonymous.get('/healthz'),
    await rest.get(`/categories/${id}`),
    await rest.post('/categories', { name: 'Dogs' }),
    await rest.delete(`/categories/${id}`),
    await anonymous.get('/categories'), // without a server no caller is authenticated
    await rest.delete('/categories'),
    await rest.get('/pets/abc'),
    await rest.send('POST', '/categories', { raw: '{', headers }),
    await rest.send('POST', '/categories', { raw: 'a=b', headers: { 'content-type': 'text/plain' } }),
    await anonymous.send('POST', '/nope', { raw: ' '.repeat(5_000_000), headers }),
  ]) {
    isUnavailable(t, response);
  }
  const head = await rest.send('HEAD', '/categories');
  t.deepEqual([head.status, head.headers.get('retry-after')], [503, '1']);

  stack.servers[0]?.process.kill('SIGKILL'); // the launcher starts another one
  await untilStatus(anonymous, '/healthz', 200);
  // Each thread of Envoy detects the server at a different time.
  const { body } = await untilStatus(rest, `/categories/${id}`, 200);
  t.deepEqual(body, { id, name: 'Cats' }); // no refused request had an effect
  isError(t, await untilStatus(anonymous, '/categories', 401), 401, 'API_KEY_MISSING');
});

test.serial("limits - a stop loses nothing of the day's count, kill -9 its last second, neither a ban", async (t) => {
  await withinOneDay(60_000);
  const { rest, stack, config, operator } = await startTestStack(t, { BAN_GRACE_SECONDS: '0' });
  const caller = rest.withKey(await operator.keyOf({ perMinute: 100_000, perDay: 40 }));
  const banned = rest.withKey(await operator.keyOf({ perMinute: 100_000, perDay: 1 }));
  const use = (times: number) => Promise.all(Array.from({ length: times }, () => caller.get('/pets')));
  /** What is left after a request that the server has answered: Envoy may not send it one at once. */
  const left = () =>
    until(async () => {
      const { status, headers } = await caller.get('/pets');
      return status === 200 ? headers.get('x-ratelimit-remaining') : undefined;
    }, 'a response of the server');
  for (let i = 0; i < 22; i += 1) await banned.get('/pets');

  await use(30);
  await delay(1_000); // counts of the last second may be lost
  const [killed] = stack.servers;
  killed?.process.kill('SIGKILL');
  await until(() => stack.servers[0] !== killed, 'the next server');
  t.is(await left(), '9');
  t.is((await banned.get('/pets')).body.code, 'API_KEY_BANNED');

  await use(3);
  await stack.stop(); // at once: the last requests are not stored yet
  const second = await startStack(config, { BUSINESS_PER_MINUTE: '1000000' });
  t.teardown(() => second.stop());
  t.is(await left(), '5');
  t.is((await banned.get('/pets')).body.code, 'API_KEY_BANNED');
});
