/** Connections: how many may be open. */
import { statistic } from '../support/exposition.ts';
import { hostileTest } from '../support/hostile/service.ts';
import { openSocket, targetOf } from '../support/hostile/sockets.ts';
import { until } from '../support/until.ts';

const test = hostileTest({ LOG_LEVEL: 'info' });

const MAX_CONNECTIONS = 10_000;

test.serial('Connections - at most 10,000 are open, and others are served once they have gone', async (t) => {
  const { config, publicAddress, rest } = t.context;
  const stat = (name: string) => statistic(config.envoyAdminPort, `.*_${config.port}[.]${name}`);
  // So many addresses that each has enough ports, also while those of an earlier run wait for their end.
  const others = Array.from({ length: 19 }, (_, index) => `127.0.7.${index + 2}`);
  const target = targetOf(publicAddress, '127.0.7.1', ...others);
  const sockets = Array.from({ length: MAX_CONNECTIONS + 200 }, (_, index) => openSocket(target, index).resume());
  await until(async () => (await stat('downstream_global_cx_overflow')) > 0, 'refused connections');
  const open = await stat('downstream_pre_cx_active'); // nothing has been read from them
  t.true(open > MAX_CONNECTIONS / 2 && open <= MAX_CONNECTIONS, `${open} are open`);
  for (const socket of sockets) socket.destroy();
  t.true(await until(async () => (await rest.get('/pets').catch(() => undefined))?.status === 200, 'a response'));
});
