/** The private parts of grpc-js that the server uses (src/rpc/private-parts.ts) are there, and do what it needs. */
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import test from 'ava';
import { type BaseCall, takeEveryCall } from '../../src/rpc/private-parts.ts';
import { grpcHeaders } from '../support/hostile/sockets.ts';
import { request, startScriptedServer, streamsOf } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';

/** Statuses that grpc-js would send by itself. */
type Sent = Parameters<BaseCall['sendStatus']>[0];

test('grpc-js - a call has its HTTP/2 stream, and ends by a status that can be replaced', async (t) => {
  const calls: { base: BaseCall; sent: Sent[] }[] = [];
  const server = new Server();
  takeEveryCall(server, (base) => {
    const sent: Sent[] = [];
    base.sendStatus = (status) => sent.push(status);
    calls.push({ base, sent });
  });
  const port = await promisify(server.bindAsync).call(server, '127.0.0.1:0', ServerCredentials.createInsecure());
  const timeout = { 'grpc-timeout': '200m' };
  const first = request(port, { protocol: 'gRPC', isStream: false, id: '1', isWhole: false, headers: timeout });
  const [late] = await until(() => calls.length > 0 && calls, 'the call');
  t.is(late?.base.stream.session?.destroyed, false);
  t.is(typeof late?.base.stream.respond, 'function');
  await until(() => (late?.sent.length ?? 0) > 0, 'the deadline');
  t.is(late?.sent[0]?.code, 4);

  const second = request(port, { protocol: 'gRPC', isStream: false, id: '2', isWhole: false, headers: timeout });
  const [, ended] = await until(() => calls.length > 1 && calls, 'the call');
  ended?.base.notifyOnCancel();
  second.stream.write(Buffer.alloc(100_000)); // more than the window: it is read and thrown away
  await until(() => second.stream.writableLength === 0, 'the data');
  await delay(300);
  t.deepEqual(ended?.sent, [], 'no deadline after the answer');
  for (const { session } of [first, second]) session.destroy();
  server.forceShutdown();
});

test('grpc-js - an unknown method or a wrong content type is answered, and leaves no stream', async (t) => {
  const server = await startScriptedServer();
  const caller = request(server.port, { protocol: 'gRPC', isStream: true, id: 'open' });
  const { session } = await until(() => server.find('open'), 'the call');
  if (session === undefined) return t.fail();
  const cases = [
    [{ ':path': '/a.b.C/D' }, { 'grpc-status': '12' }],
    [{ ':path': '/' }, { 'grpc-status': '12' }],
    [{ 'content-type': 'application/json' }, { ':status': 415 }],
    [{ 'content-type': '' }, { ':status': 415 }],
  ] as const;
  for (const [headers, expected] of cases) {
    for (const endStream of [true, false]) {
      const stream = caller.session.request({ ...grpcHeaders('/a.b.C/D'), ...headers }, { endStream });
      stream.on('error', () => undefined);
      if (!endStream) stream.write(Buffer.alloc(10_000));
      const response = await Promise.race([
        new Promise<object>((resolve) => stream.on('response', resolve)),
        new Promise<object>((resolve) => stream.on('close', () => resolve({ rstCode: stream.rstCode }))),
        delay(5_000, {}),
      ]);
      t.like(response, expected, JSON.stringify([headers, endStream]));
      stream.resume();
      await until(() => streamsOf(session) === 1, `${JSON.stringify(headers)}: the end of its stream`, 5_000);
    }
  }
  caller.session.destroy();
  server.close();
});
