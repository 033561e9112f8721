/** The port of Envoy's statistics. */
import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'ava';
import { startTestStack } from '../support/service/stack.ts';

test("Envoy's statistics - are answered while others hold connections with half a request", async (t) => {
  const stack = await startTestStack();
  t.teardown(() => stack.close());
  const port = stack.config.envoyAdminPort;
  for (let i = 0; i < 40; i += 1) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    t.teardown(() => socket.destroy());
    await once(socket, 'connect');
    socket.write('GET /stats HTTP/1.1\r\nHost: localhost\r\n');
  }
  t.is((await fetch(`http://127.0.0.1:${port}/stats/prometheus`)).status, 200);
});
