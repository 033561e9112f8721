/** Starts with other settings, and starts after others. */
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { RestClient } from '../support/calls/rest-client.ts';
import { isFree } from '../support/machine/ports.ts';
import { testUnless } from '../support/machine/programs.ts';
import { makeCertificates, noOpenssl } from '../support/machine/tls.ts';
import { isRunning, signal } from '../support/service/launcher.ts';
import { until } from '../support/until.ts';
import { type Context, launch, refusedWith, type Test, test } from './launch.ts';

const sh = promisify(execFile);
const addresses = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
const hasIPv6 = addresses.some(({ address }) => address === '::1');
const testIPv6 = hasIPv6 ? testUnless<Context>(noOpenssl) : test.skip;
const dataDir = (t: Test) => t.context.settings.DATA_DIR ?? '';

test('kill -9 of the launcher - ends server and Envoy, and the next start waits for them', async (t) => {
  const folders = [dataDir(t), join(dataDir(t), 'logs')];
  const pidFile = join(dataDir(t), 'service.pid');
  const first = launch(t);
  const { url, key } = await first.opened();
  const id = await new RestClient(url, key).category('Cats');
  const { server, envoy } = await first.pair();
  process.kill(server.pid, 'SIGSTOP'); // it holds its port until it is resumed
  t.teardown(() => signal(server.pid, 'SIGKILL'));
  await first.end('SIGKILL');
  t.true(existsSync(pidFile) && existsSync(join(dataDir(t), 'envoy-admin.sock')));
  for (const folder of folders) chmodSync(folder, 0o777);

  const next = launch(t);
  await until(() => readFileSync(pidFile, 'utf8') === `${next.pid}\n`, 'the lock of the next one');
  await delay(500);
  process.kill(server.pid, 'SIGCONT');
  t.is((await next.opened()).key, key);
  await until(() => ![server, envoy].some(isRunning), 'the end of the first server and Envoy');
  t.deepEqual((await new RestClient(url, key).get(`/categories/${id}`)).body, { id, name: 'Cats' });
  for (const folder of folders) t.is(statSync(folder).mode & 0o777, 0o700, 'it was open to others');
  t.deepEqual(await next.end('SIGTERM'), { code: 0, signal: null });
  t.false(existsSync(pidFile));

  writeFileSync(pidFile, `${process.pid}\n`); // of an unrelated process
  writeFileSync(join(dataDir(t), 'petstore.sqlite'), 'this is no database, and never was one');
  await refusedWith(t, launch(t), /file is not a database\): .*restore a backup$/);
});

/**
 * Addresses that a listener on 127.0.0.1 does not have. On Linux one is enough: others may be those of other tests'
 * networks, which come and go.
 */
const outside =
  process.platform === 'linux'
    ? ['127.0.0.2']
    : addresses.filter(({ internal, family }) => !internal && family === 'IPv4').map(({ address }) => address);

test('Network - HOST and ENVOY_ADMIN_HOST open their ports to other machines, and no other port', async (t) => {
  const all = '0.0.0.0';
  const launcher = launch(t, { HOST: all, ENVOY_ADMIN_HOST: all, DEMO_ACCOUNT: 'no' });
  const { url, curl, key } = await launcher.opened();
  const { PORT, GRPC_PORT, ENVOY_ADMIN_PORT } = launcher.settings;
  t.is(url, `http://127.0.0.1:${PORT}`);
  t.true(outside.length > 0);
  for (const host of outside) {
    const areOpen = [PORT, GRPC_PORT].map(async (port) => !(await isFree(Number(port), host)));
    t.deepEqual(await Promise.all(areOpen), [true, false], host);
    t.is((await fetch(`http://${host}:${ENVOY_ADMIN_PORT}/stats/prometheus`)).status, 200, host);
  }
  t.is(curl, `curl -H "Authorization: Bearer <API_KEY>" ${url}/pets`, 'without a demo account');
  t.is(key, '');
  t.regex(launcher.output, /\nAccounts and keys are made with the petstore command: .*\n/);
});

testIPv6('Start - works on IPv6; the curl command also with TLS and the PROXY protocol', async (t) => {
  const certificates = await makeCertificates(t);
  const tls = { TLS_CERT: certificates.path('server.pem'), TLS_KEY: certificates.path('server-key.pem') };
  const proxy = { PROXY_PROTOCOL: 'yes', TRUSTED_PROXIES: '::1' };
  const { curl, url } = await launch(t, { HOST: '::', ...tls, ...proxy }).opened();
  t.is(url, `https://[::1]:${t.context.settings.PORT}`);
  const key = `$(cat '${dataDir(t)}/demo.key')`;
  t.is(curl, `curl --insecure --haproxy-protocol -H "Authorization: Bearer ${key}" '${url}/pets'`);
  t.is((await sh('sh', ['-c', `${curl} --silent --fail`])).stdout, '[]');
});
