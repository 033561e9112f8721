/** What callers see when the server or Envoy fails: each test has a stack of its own. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { status as Status } from '@grpc/grpc-js';
import test from 'ava';
import { readConfig } from '../../src/platform/config/config.ts';
import { apiError } from '../../src/platform/errors.ts';
import { findEnvoy } from '../../src/platform/launcher/envoy.ts';
import { rawGrpc } from '../support/calls/http2.ts';
import { grpcFrame, targetOf } from '../support/calls/sockets.ts';
import { isError, isUnavailable } from '../support/contract/errors.ts';
import { change } from '../support/machine/database.ts';
import { temporaryFolder } from '../support/machine/folder.ts';
import { startTestStack, type TestStack } from '../support/service/stack.ts';
import { until } from '../support/until.ts';

const GET_PET = { path: '/petstore.v1.PetService/GetPet' };

function callOverConnect({ url }: TestStack['rest']): Promise<Response> {
  const headers = { 'content-type': 'application/proto', authorization: 'Bearer none' };
  return fetch(`${url}/petstore.v1.PetService/ListPets`, { method: 'POST', headers });
}

test('500 - INTERNAL does not contain the cause, which is logged with the request id', async (t) => {
  const { config, rest } = await startTestStack(t);
  change(config.dataDir, 'ALTER TABLE orders RENAME TO misplaced');
  for (const method of ['GET', 'POST']) {
    const response = await rest.send(method, '/store/orders');
    const requestId = response.headers.get('x-request-id') ?? '';
    isError(t, response, 500, 'INTERNAL', `something went wrong on our side; request id ${requestId}`);
    const log = await readFile(join(config.dataDir, 'logs', 'server.log'), 'utf8');
    const lines = log.split('\n').filter((line) => line.includes(requestId));
    // A request with a body is judged in a separate call before, with the same request id.
    const { outcome, level, err } = JSON.parse(lines.at(-1) ?? '{}');
    t.deepEqual([outcome, level], ['INTERNAL', 50]);
    t.regex(err.message, /no such table: orders/);
  }
  t.is((await rest.get('/pets')).status, 200); // other requests succeed
});

test('504 - what gets no response in time is DEADLINE_EXCEEDED, also HEAD and unsent gRPC messages', async (t) => {
  const program = fileURLToPath(new URL('./mute-server.ts', import.meta.url));
  const { rest, key, publicAddress } = await startTestStack(t, {}, { program });
  const [read, nowhere, change, head, connect, grpc, late, web] = await Promise.all([
    rest.get('/categories/1'),
    rest.get('/nowhere'),
    rest.post('/categories', { name: 'Dogs' }),
    rest.send('HEAD', '/categories/1'),
    callOverConnect(rest),
    ...[
      { isEnded: false },
      { body: grpcFrame() },
      { body: grpcFrame(), headers: { 'content-type': 'application/grpc-web; x=y' } },
    ].map((call) => rawGrpc(targetOf(publicAddress, '127.0.0.1'), { ...GET_PET, key, ...call })),
  ]);
  const message = 'the request was not answered in time';
  for (const response of [read, nowhere, change]) {
    isError(t, response, 504, 'DEADLINE_EXCEEDED', message);
    t.false(response.headers.has('location'));
  }
  t.deepEqual([head.status, connect.status], [504, 504]);
  t.like(await connect.json(), { code: 'deadline_exceeded', message });
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
  await writeFile(join(folder, 'envoy'), script, { mode: 0o700 });
  const { rest, publicAddress } = await startTestStack(t, { ENVOY: join(folder, 'envoy') });
  await until(async () => (await rest.get('/healthz')).status === 503, 'the pressure');
  for (const path of ['/pets', '/healthz']) isUnavailable(t, await rest.get(path));
  isUnavailable(t, await rest.post('/pets', {}));
  t.is((await callOverConnect(rest)).status, 503);
  for (const type of ['application/grpc', 'application/grpc; x=y', 'application/grpc-web']) {
    const call = { ...GET_PET, headers: { 'content-type': type } };
    const { status, reason, headers } = await rawGrpc(targetOf(publicAddress, '127.0.0.1'), call);
    t.deepEqual([status, reason], [Status.UNAVAILABLE, 'UNAVAILABLE'], type);
    t.is(headers.get('grpc-retry-pushback-ms'), '1000');
    t.deepEqual(
      [...headers.keys()].filter((name) => name.startsWith('x-petstore')),
      [],
    );
  }
});
