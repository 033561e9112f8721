/** `npm start` that succeeds. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { RestClient } from '../support/rest-client.ts';
import { until } from '../support/until.ts';
import { launch, test } from './launch.ts';

const sh = promisify(execFile);
const hasIPv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);

test('Start - shows the URL, the documentation, the folder of the logs and how to stop the service', async (t) => {
  const launcher = launch(t);
  const { url } = await launcher.opened();
  t.is(url, `http://127.0.0.1:${launcher.settings.PORT}`);
  const logs = join(launcher.settings.DATA_DIR ?? '', 'logs');
  t.true(launcher.output.includes(`Its documentation: ${url}/docs\n`));
  t.is((await fetch(`${url}/docs`)).status, 200);
  t.true(launcher.output.includes(`Logs are in ${logs}. Ctrl-C stops it.`));
  for (const name of ['server.log', 'envoy.log', 'access.log', 'audit.log']) t.true(existsSync(join(logs, name)), name);
  t.is(launcher.errors, '');
});

test('Start - the curl command works unchanged, and shows where the key is, not the key', async (t) => {
  const launcher = launch(t);
  const { curl, url, key } = await launcher.opened();
  t.is(curl, `curl -H "Authorization: Bearer $(cat '${launcher.settings.DATA_DIR}/demo.key')" ${url}/pets`);
  t.false(launcher.output.includes(key.slice(4)));
  t.is((await sh('sh', ['-c', `${curl} --silent --fail`])).stdout, '[]');
  const id = await new RestClient(url, key).pet();
  t.regex((await sh('sh', ['-c', `${curl} --silent --fail`])).stdout, new RegExp(`^\\[{"id":${id},.*}\\]$`));
});

test('Start - the second run has the same data and the same key', async (t) => {
  const first = launch(t);
  const { url, key } = await first.opened();
  const id = await new RestClient(url, key).category('Cats');
  await first.end('SIGTERM');

  const again = await launch(t).opened();
  t.is(again.key, key);
  t.deepEqual((await new RestClient(url, key).get(`/categories/${id}`)).body, { id, name: 'Cats' });
});

test('Start - data survives a kill -9 of the server', async (t) => {
  const first = launch(t);
  const { url, key } = await first.opened();
  const id = await new RestClient(url, key).category('Cats');
  process.kill((await first.pair()).server.pid, 'SIGKILL');
  await first.says(/The server serves again\.\n/);

  // Envoy's threads and clusters notice it one after the other: one success does not promise the next.
  let body: unknown;
  const hasSucceeded = async () => {
    const response = await new RestClient(url, key).get(`/categories/${id}`);
    body = response.body;
    return response.status === 200;
  };
  await until(hasSucceeded, 'a response');
  t.deepEqual(body, { id, name: 'Cats' });
});

test('Start - only their owner can read the keys', async (t) => {
  const { settings } = launch(t);
  await t.context.launchers[0]?.opened();
  const dataDir = settings.DATA_DIR ?? '';
  const keys = readdirSync(dataDir).filter((name) => name.endsWith('.key'));
  t.true(keys.includes('demo.key'));
  for (const name of keys) t.is(statSync(join(dataDir, name)).mode & 0o777, 0o600, name);
});

test('Start - a data folder with a quote and a backslash in its name works', async (t) => {
  const { curl } = await launch(t, { DATA_DIR: `${t.context.settings.DATA_DIR}/Tom's "data" \\ $x` }).opened();
  t.is((await sh('sh', ['-c', `${curl} --silent --fail`])).stdout, '[]');
});

test('Start - without a demo account shows no key, and says how to create one', async (t) => {
  const launcher = launch(t, { DEMO_ACCOUNT: 'no' });
  const { curl, key, url } = await launcher.opened();
  t.is(curl, `curl -H "Authorization: Bearer <API_KEY>" ${url}/pets`);
  t.is(key, '');
  t.regex(launcher.output, /\nAccounts and keys are made with the petstore command: .*\n/);
});

(hasIPv6 ? test : test.skip)('Start - the curl command works on IPv6 too', async (t) => {
  const { curl, url } = await launch(t, { HOST: '::1' }).opened();
  t.is(url, `http://[::1]:${t.context.settings.PORT}`);
  t.is((await sh('sh', ['-c', `${curl} --silent --fail`])).stdout, '[]');
});
