/** Connections: how long they are kept, and how many. */
import { setTimeout as delay } from 'node:timers/promises';
import { statistic } from '../support/exposition.ts';
import { hostileTest } from '../support/hostile/service.ts';
import { openSocket, targetOf } from '../support/hostile/sockets.ts';
import { until } from '../support/until.ts';

const test = hostileTest({ LOG_LEVEL: 'info' });

test.serial('Connections - one is kept open for the next request, some seconds after a response', async (t) => {
  const socket = openSocket(targetOf(t.context.publicAddress, '127.0.0.6'));
  let responses = 0;
  socket.on('data', (chunk: Buffer) => {
    responses += chunk.toString().split('HTTP/1.1 200 OK').length - 1;
  });
  // The pause is what is tested.
  for (const pauseMs of [4_000, 0]) {
    const before = responses;
    socket.write('GET /docs HTTP/1.1\r\nHost: petstore\r\n\r\n');
    await until(() => responses > before || socket.closed, 'the response');
    await delay(pauseMs);
  }
  t.is(responses, 2);
  socket.destroy();
});

const MAX_CONNECTIONS = 10_000;

test.serial('Connections - at most 10,000 are open, and others are served once they have gone', async (t) => {
  const { config, publicAddress, rest } = t.context;
  const stat = (name: string) => statistic(config.envoyAdminPort, `.*_${config.port}[.]${name}`);
  const target = targetOf(publicAddress, '127.0.0.7', '127.0.0.8');
  const sockets = Array.from({ length: MAX_CONNECTIONS + 200 }, (_, index) => openSocket(target, index).resume());
  await until(async () => (await stat('downstream_global_cx_overflow')) > 0, 'refused connections');
  const open = await stat('downstream_pre_cx_active'); // nothing has been read from them
  t.true(open > MAX_CONNECTIONS / 2 && open <= MAX_CONNECTIONS, `${open} are open`);
  for (const socket of sockets) socket.destroy();
  t.true(await until(async () => (await rest.get('/pets').catch(() => undefined))?.status === 200, 'a response'));
});
