/** Server processes with one Redis: they share the limits, and neither start nor stop depends on it. */
import { status as Code } from '@grpc/grpc-js';
import type { TestFn } from 'ava';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { withinOneDay } from '../support/limit-windows.ts';
import { freePorts } from '../support/ports.ts';
import { createDataDir, type ServerProcess, startServerProcess, TestProcess } from '../support/process.ts';
import { testUnless } from '../support/programs.ts';
import { MISSING_REDIS_SERVER, RedisProcess } from '../support/redis.ts';
import { makeCertificates, noOpenssl } from '../support/tls.ts';

interface Context {
  readonly redis: RedisProcess;
  /** Starts a server with its own database. */
  readonly start: (settings?: Readonly<Record<string, string>>) => Promise<ServerProcess>;
  readonly closing: (() => Promise<unknown>)[];
}

const test: TestFn<Context> = testUnless(MISSING_REDIS_SERVER ?? noOpenssl);

const PER_DAY = 50;

test.beforeEach(async (t) => {
  await withinOneDay(60_000);
  const redis = await RedisProcess.start();
  const closing: Context['closing'] = [() => redis.stop()];
  const start: Context['start'] = async (settings) => {
    const { path, remove } = await createDataDir();
    closing.push(remove);
    const defaults = { REDIS_URL: redis.config.urls[0], BUSINESS_PER_DAY: `${PER_DAY}` };
    const server = await startServerProcess(path, { ...defaults, ...settings });
    closing.push(async () => {
      server.grpc.close();
      await server.end('SIGKILL');
    });
    return server;
  };
  t.context = { redis, start, closing };
});
test.afterEach.always(async (t) => {
  t.context.redis.resume();
  for (const close of t.context.closing.reverse()) await close();
});

/** Calls until the limit refuses one. Resolves with the number of admitted calls. */
async function exhaust({ grpc }: ServerProcess): Promise<number> {
  for (let admitted = 0; admitted <= 2 * PER_DAY; admitted += 1) {
    try {
      await grpc.call(Categories.listCategories, { pageToken: '' });
    } catch (error) {
      if ((error as { code?: Code }).code === Code.RESOURCE_EXHAUSTED) return admitted;
      throw error;
    }
  }
  return Number.POSITIVE_INFINITY;
}

function messages({ output }: ServerProcess): string[] {
  return output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).msg);
}

test('Servers - calls that one admits count at the other', async (t) => {
  const [one, other] = [await t.context.start(), await t.context.start()];
  for (let i = 0; i < 20; i += 1) await one.grpc.call(Categories.listCategories, { pageToken: '' });
  t.is(await exhaust(other), PER_DAY - 20);
  t.is(await exhaust(one), 0);
});

test('Redis unavailable - a server starts and serves, logs it once, and stops cleanly', async (t) => {
  await t.context.redis.kill();
  const server = await t.context.start();
  t.is(await exhaust(server), PER_DAY);
  t.deepEqual(await server.end('SIGTERM'), { code: 0, signal: null });
  const said = messages(server);
  t.deepEqual(
    said.map((message) => message.split(':')[0]),
    ["the database's schema is up to date now", 'Redis is unavailable', 'serving', 'draining', 'stopped'],
  );
  t.is(server.errors, '');
});

test('Redis hanging - a server stops cleanly', async (t) => {
  const server = await t.context.start();
  await server.grpc.call(Categories.listCategories, { pageToken: '' });
  t.context.redis.pause();
  await server.grpc.call(Categories.listCategories, { pageToken: '' });
  t.deepEqual(await server.end('SIGTERM'), { code: 0, signal: null });
});

test('Invalid REDIS_URL - a server does not start, and does not show the password', async (t) => {
  const { path, remove } = await createDataDir();
  t.context.closing.push(remove);
  const server = new TestProcess('src/main.ts', { DATA_DIR: path, REDIS_URL: 'redis://:secret@127.0.0.1/no-number' });
  t.like(await server.ended, { code: 1 });
  t.notRegex(server.output + server.errors, /secret|unavailable/);
});

test('rediss:// - limits are counted over TLS', async (t) => {
  const certificates = await makeCertificates();
  t.context.closing.push(() => certificates.remove());
  await certificates.issue('redis', 'IP:127.0.0.1');
  const port = String((await freePorts(1))[0]);
  const [cert, key, ca] = ['redis.pem', 'redis-key.pem', 'ca.pem'].map((file) => certificates.path(file));
  const files = ['--tls-cert-file', `${cert}`, '--tls-key-file', `${key}`, '--tls-auth-clients', 'no'];
  const redis = await RedisProcess.start(['--tls-port', port, ...files]);
  t.context.closing.push(() => redis.stop());
  const overTls = { REDIS_URL: `rediss://127.0.0.1:${port}`, NODE_EXTRA_CA_CERTS: `${ca}` };
  const [one, other] = [await t.context.start(overTls), await t.context.start(overTls)];
  t.is(await exhaust(one), PER_DAY);
  t.is(await exhaust(other), 0);
  t.false(messages(one).some((message) => message.includes('unavailable')));
});

test('Redis - one that forgets keys when its memory is full is reported at start', async (t) => {
  const { redis, start } = t.context;
  const line = /Redis forgets limits and bans when its memory is full: set maxmemory-policy noeviction/;
  await redis.command('CONFIG', 'SET', 'maxmemory', '50mb');
  t.notRegex((await start()).output, line);
  await redis.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
  await (await start()).says(line);
});
