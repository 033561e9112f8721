/** `npm run edge`: a standalone Envoy, in front of servers that start and stop. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { childrenOf } from '../support/service/launcher.ts';
import { until } from '../support/until.ts';
import { get, run, test, tlsAs } from './standalone.ts';

const CLEAN = { code: 0, signal: null };

test('Standalone edge - without a server it responds with 503, then with 200; Envoy is restarted', async (t) => {
  const edge = run(t, 'edge');
  const opened =
    'The edge is open at http://127\\.0\\.0\\.1:\\d+, and sends calls to 127\\.0\\.0\\.1:\\d+ in plain text';
  await edge.says(new RegExp(`^${opened}\\..+\\n$`));
  const [envoy] = (await childrenOf(edge.pid)).filter(({ command }) => command.includes('--config-path'));
  process.kill(envoy?.pid ?? 0, 'SIGKILL');
  await edge.says(/Envoy ended unexpectedly \(signal SIGKILL\)[^\n]+again …\n(.*\n)*Envoy serves again\.\n/);
  t.is(await get(t, '/healthz'), 503);
  await run(t, 'server').says(/"serving"/);
  await until(async () => (await get(t, '/pets')) === 200, 'a call with an API key');
  t.deepEqual(await edge.end('SIGTERM'), CLEAN);
  t.regex(edge.output, /Stopping: open requests have 10 seconds[^\n]+\nStopped\.\n$/);
  t.deepEqual(await childrenOf(edge.pid), []);
});

test('Standalone edge - without EDGE_SECRET it is refused with one line', async (t) => {
  const edge = run(t, 'edge', { EDGE_SECRET: '' });
  t.deepEqual(await edge.ended, { code: 1, signal: null });
  t.regex(edge.errors, /^petstore: npm run edge needs EDGE_SECRET[^\n]+\n$/);
  t.is(edge.output, '');
});

test('Standalone edge - with mutual TLS a server needs a certificate for its name in SERVERS', async (t) => {
  const { certificates, ports, folder } = t.context;
  await certificates.issue('right', 'DNS:localhost');
  await certificates.issue('other', 'DNS:petstore-7,IP:127.0.0.7');
  const SERVERS = `localhost:${ports.server}`;
  const edge = run(t, 'edge', { ...tlsAs(t, 'client'), SERVERS, LOGS: 'stdout' });
  await edge.says(/by mutual TLS/);
  const wrong = run(t, 'server', tlsAs(t, 'other'));
  await wrong.says(/"serving"/);
  const stats = async () => (await fetch(`http://127.0.0.1:${ports.admin}/stats`)).text();
  await until(async () => /petstore\.ssl\.fail_verify_san: [1-9]/.test(await stats()), 'a refused name');
  t.is(await get(t, '/healthz'), 503);
  await wrong.end('SIGKILL');
  run(t, 'server', tlsAs(t, 'right'));
  await until(async () => (await get(t, '/pets')) === 200, 'the server');
  t.deepEqual(await edge.end('SIGTERM'), CLEAN);

  const logged = edge.output.split('\n').filter(Boolean); // LOGS=stdout: JSON lines, and no log files
  const lines = logged.map((line) => JSON.parse(line));
  t.true(lines.some(({ msg }) => msg === 'Stopped.'));
  t.true(lines.some(({ path, status: code }) => path === '/healthz' && code === 503));
  t.is(edge.errors, '');
  await t.throwsAsync(readFile(join(folder, 'edge/logs/access.log')), { code: 'ENOENT' });
});
