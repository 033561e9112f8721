/** Server processes with Redis: neither start nor stop depends on it. */
import { status as Code } from '@grpc/grpc-js';
import type { ExecutionContext } from 'ava';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { withinOneDay } from '../support/limit-windows.ts';
import { freePorts } from '../support/ports.ts';
import { createDataDir, startServerProcess } from '../support/process.ts';
import { testUnless } from '../support/programs.ts';
import { MISSING_REDIS_SERVER, RedisProcess } from '../support/redis.ts';
import { makeCertificates, noOpenssl } from '../support/tls.ts';

const test = testUnless<unknown>(MISSING_REDIS_SERVER ?? noOpenssl);
const PER_DAY = 5;

/** Starts a server, and calls it until the limit of the day refuses a call. */
async function start(t: ExecutionContext, settings: Readonly<Record<string, string>>) {
  await withinOneDay(60_000);
  const { path, remove } = await createDataDir();
  t.teardown(remove);
  const server = await startServerProcess(path, { BUSINESS_PER_DAY: String(PER_DAY), ...settings });
  t.teardown(async () => {
    server.grpc.close();
    await server.end('SIGKILL');
  });
  for (let i = 0; i < PER_DAY; i += 1) await server.grpc.call(Categories.listCategories, { pageToken: '' });
  t.is((await server.grpc.failure(Categories.listCategories, { pageToken: '' })).code, Code.RESOURCE_EXHAUSTED);
  return server;
}

test('Redis unavailable - a server starts and serves, logs it once, and stops cleanly', async (t) => {
  const server = await start(t, { REDIS_URL: `redis://127.0.0.1:${(await freePorts(1))[0]}` });
  t.deepEqual(await server.end('SIGTERM'), { code: 0, signal: null });
  const lines = server.output.trim().split('\n');
  t.deepEqual(
    lines.map((line) => JSON.parse(line).msg.split(':')[0]),
    ["the database's schema is up to date now", 'Redis is unavailable', 'serving', 'draining', 'stopped'],
  );
  t.is(server.errors, '');
});

test('rediss:// - limits are counted over TLS, and a server stops cleanly while Redis hangs', async (t) => {
  const certificates = await makeCertificates();
  t.teardown(() => certificates.remove());
  await certificates.issue('redis', 'IP:127.0.0.1');
  const port = String((await freePorts(1))[0]);
  const [cert, key, ca] = ['redis.pem', 'redis-key.pem', 'ca.pem'].map((file) => certificates.path(file));
  const files = ['--tls-cert-file', `${cert}`, '--tls-key-file', `${key}`, '--tls-auth-clients', 'no'];
  const redis = await RedisProcess.start(['--tls-port', port, ...files]);
  t.teardown(() => redis.stop());
  const server = await start(t, { REDIS_URL: `rediss://127.0.0.1:${port}`, NODE_EXTRA_CA_CERTS: `${ca}` });
  t.regex(String(await redis.command('GET', 'petstore:{account:1}:used')), new RegExp(` ${PER_DAY} 1$`));
  redis.pause();
  t.teardown(() => redis.resume());
  await server.grpc.failure(Categories.listCategories, { pageToken: '' });
  t.deepEqual(await server.end('SIGTERM'), { code: 0, signal: null });
  t.notRegex(server.output, /"level":50/);
});
