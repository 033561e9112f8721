/** The private parts of grpc-js that the server uses (src/rpc/private-parts.ts) are there, and do what it needs. */
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { grpcHeaders } from '../support/hostile/sockets.ts';
import { request, startScriptedServer, streamsOf } from '../support/scripted-server.ts';
import { until } from '../support/until.ts';

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
        delay(20_000, {}),
      ]);
      t.like(response, expected, JSON.stringify([headers, endStream]));
      stream.resume();
      await until(() => streamsOf(session) === 1, `${JSON.stringify(headers)}: the end of its stream`, 20_000);
    }
  }
  caller.session.destroy();
  server.close();
});
