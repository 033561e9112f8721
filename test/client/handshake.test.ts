/** Servers that accept the typed client's connections and say nothing. */
import test, { type ExecutionContext } from 'ava';
import { createClient } from '../../gen/client/index.ts';
import { TcpProxy } from '../support/machine/tcp-proxy.ts';
import { startTestServer } from '../support/service/server.ts';
import { until } from '../support/until.ts';

/** A server behind a proxy that passes nothing on. */
async function startSilent(t: ExecutionContext) {
  t.timeout(60_000);
  const server = await startTestServer(t);
  const proxy = await TcpProxy.open(t, Number(server.address.split(':')[1]));
  proxy.silence();
  return { server, proxy, secondConnection: () => until(() => proxy.accepted > 1, 'a second connection', 50_000) };
}

test('handshake - a connection on which the server says nothing is replaced, and calls go on', async (t) => {
  const { server, proxy, secondConnection } = await startSilent(t);
  const client = createClient({ address: `127.0.0.1:${proxy.port}`, apiKey: server.key });
  const call = client.pets.listPets({}, { timeoutMs: 50_000 });
  await secondConnection();
  proxy.restore();
  t.deepEqual((await call).pets, []);
  await client.close();
});

test('handshake - a connection without an answer to TLS is replaced too', async (t) => {
  const { proxy, secondConnection } = await startSilent(t);
  const client = createClient({ address: `https://localhost:${proxy.port}`, apiKey: 'key' });
  const call = client.pets.listPets({}, { timeoutMs: 50_000 }).catch(() => undefined);
  await t.notThrowsAsync(secondConnection());
  await client.close();
  await call;
});
