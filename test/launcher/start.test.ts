/** `npm start` that goes well. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { RestClient } from '../support/rest-client.ts';
import { launch, test } from './launch.ts';

const sh = promisify(execFile);
const hasIPv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);

test('Start - says where the service is, how to call it, where its logs are and how to stop it', async (t) => {
  const launcher = launch(t);
  const { url } = await launcher.opened();
  t.is(url, `http://127.0.0.1:${launcher.settings.PORT}`);
  const logs = join(launcher.settings.DATA_DIR ?? '', 'logs');
  t.true(launcher.output.includes(`Logs are in ${logs}. Ctrl-C stops it.`));
  for (const name of ['server.log', 'envoy.log', 'access.log']) t.true(existsSync(join(logs, name)), name);
  t.is(launcher.errors, '');
});

test('Start - the curl line works as it stands', async (t) => {
  const { curl, url, key } = await launch(t).opened();
  t.is((await sh('sh', ['-c', `${curl.trim()} --silent --fail`])).stdout, '[]');
  const id = await new RestClient(url, key).pet();
  t.regex((await sh('sh', ['-c', `${curl.trim()} --silent --fail`])).stdout, new RegExp(`^\\[{"id":${id},.*}\\]$`));
});

test('Start - a second one has the same data and the same key', async (t) => {
  const first = launch(t);
  const { url, key } = await first.opened();
  const id = await new RestClient(url, key).category('Cats');
  await first.end('SIGTERM');

  const again = await launch(t).opened();
  t.is(again.key, key);
  t.deepEqual((await new RestClient(url, key).get(`/categories/${id}`)).body, { id, name: 'Cats' });
});

test('Start - after a kill -9 of the server it is all there too', async (t) => {
  const first = launch(t);
  const { url, key } = await first.opened();
  const id = await new RestClient(url, key).category('Cats');
  process.kill((await first.pair()).server.pid, 'SIGKILL');
  await first.ended;

  t.is((await launch(t).opened()).key, key);
  t.deepEqual((await new RestClient(url, key).get(`/categories/${id}`)).body, { id, name: 'Cats' });
});

test('Start - keys can be read by their owner alone', async (t) => {
  const { settings } = launch(t);
  await t.context.launchers[0]?.opened();
  const dataDir = settings.DATA_DIR ?? '';
  const keys = readdirSync(dataDir).filter((name) => name.endsWith('.key'));
  t.true(keys.includes('demo.key'));
  for (const name of keys) t.is(statSync(join(dataDir, name)).mode & 0o777, 0o600, name);
});

test('Start - a data folder with a quote and a backslash in its name is fine', async (t) => {
  const { curl } = await launch(t, { DATA_DIR: `${t.context.settings.DATA_DIR}/Tom's "data" \\ $x` }).opened();
  t.is((await sh('sh', ['-c', `${curl.trim()} --silent --fail`])).stdout, '[]');
});

(hasIPv6 ? test : test.skip)('Start - on IPv6 the curl line works as well', async (t) => {
  const { curl, url } = await launch(t, { HOST: '::1' }).opened();
  t.is(url, `http://[::1]:${t.context.settings.PORT}`);
  t.is((await sh('sh', ['-c', `${curl.trim()} --silent --fail`])).stdout, '[]');
});
