/** The check of the ports at a start. */
import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'ava';
import { checkFree } from '../../src/platform/process/ports.ts';
import { freePorts } from '../support/machine/ports.ts';
import { until } from '../support/until.ts';

test('Ports - a client who connects during the check does not hold up the start', async (t) => {
  const meetsCheck = async () => {
    const [port = 0, other = 0] = await freePorts(2);
    let isChecking = true;
    // The look-up of the name leaves time to connect.
    const checked = checkFree([
      ['PORT', '127.0.0.1', port],
      ['METRICS_PORT', 'localhost', other],
    ]).finally(() => (isChecking = false));
    let hasMet = false;
    while (isChecking && !hasMet) {
      const client = connect(port, '127.0.0.1', () => client.write('GET / HTTP/1.1\r\n\r\n'));
      t.teardown(() => client.destroy());
      hasMet = (await once(client, 'connect').catch(() => undefined)) !== undefined;
    }
    await checked;
    return hasMet;
  };
  await t.notThrowsAsync(until(meetsCheck, 'a client who connects in time'));
});
