/** A server process with Redis over TLS, which hangs when the server stops. */
import { status as Code } from '@grpc/grpc-js';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { withinOneDay } from '../support/limit-windows.ts';
import { freePorts } from '../support/ports.ts';
import { createDataDir, startServerProcess } from '../support/process.ts';
import { testUnless } from '../support/programs.ts';
import { MISSING_REDIS_SERVER, RedisProcess } from '../support/redis.ts';
import { makeCertificates, noOpenssl } from '../support/tls.ts';

const test = testUnless<unknown>(MISSING_REDIS_SERVER ?? noOpenssl);
const PER_DAY = 5;

test('rediss:// - limits are counted over TLS, and a server stops cleanly while Redis hangs', async (t) => {
  await withinOneDay(60_000);
  const [certificates, { path, remove }] = [await makeCertificates(), await createDataDir()];
  t.teardown(() => Promise.all([certificates.remove(), remove()]));
  await certificates.issue('redis', 'IP:127.0.0.1');
  const port = String((await freePorts(1))[0]);
  const [cert, key, ca] = ['redis.pem', 'redis-key.pem', 'ca.pem'].map((file) => certificates.path(file));
  const files = ['--tls-cert-file', `${cert}`, '--tls-key-file', `${key}`, '--tls-auth-clients', 'no'];
  const redis = await RedisProcess.start(['--tls-port', port, ...files]);
  t.teardown(() => redis.stop());
  const settings = { REDIS_URL: `rediss://127.0.0.1:${port}`, NODE_EXTRA_CA_CERTS: `${ca}` };
  const server = await startServerProcess(path, { BUSINESS_PER_DAY: String(PER_DAY), ...settings });
  t.teardown(async () => {
    server.grpc.close();
    await server.end('SIGKILL');
  });
  const list = () => server.grpc.call(Categories.listCategories, { pageToken: '' });
  for (let i = 0; i < PER_DAY; i += 1) await list();
  await t.throwsAsync(list(), { code: Code.RESOURCE_EXHAUSTED });
  t.regex(String(await redis.command('GET', 'petstore:{account:1}:used')), new RegExp(` ${PER_DAY} 1$`));
  redis.pause();
  t.teardown(() => redis.resume());
  await t.throwsAsync(list());
  t.deepEqual(await server.end('SIGTERM'), { code: 0, signal: null });
  t.notRegex(server.output, /"level":50/);
});
