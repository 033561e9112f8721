/** A server process that ends while PostgreSQL or Redis hangs. */
import { status as Code } from '@grpc/grpc-js';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { freePorts } from '../support/machine/ports.ts';
import { postgresMissing, startPostgres } from '../support/machine/postgres.ts';
import { testUnless } from '../support/machine/programs.ts';
import { MISSING_REDIS_SERVER, RedisProcess } from '../support/machine/redis.ts';
import { makeCertificates, noOpenssl } from '../support/machine/tls.ts';
import { withinOneDay } from '../support/service/limit-windows.ts';
import { type Context, start } from './server-processes.ts';

const CLEAN = { code: 0, signal: null };
const PER_DAY = 5;

testUnless<Context>(postgresMissing)('SIGTERM - a server ends while PostgreSQL hangs', async (t) => {
  const postgres = await startPostgres(t);
  const server = await start(t, { DATABASE_URL: await postgres.createDatabase() });
  await postgres.pause();
  t.teardown(() => postgres.resume());
  t.deepEqual(await server.end('SIGTERM'), CLEAN);
  t.regex(server.output, /"stopped"/);
});

const redisTest = testUnless<Context>(MISSING_REDIS_SERVER ?? noOpenssl);

redisTest('rediss:// - limits are counted over TLS, and a server stops cleanly while Redis hangs', async (t) => {
  await withinOneDay(60_000);
  const certificates = await makeCertificates(t);
  await certificates.issue('redis', 'IP:127.0.0.1');
  const port = String((await freePorts(1))[0]);
  const [cert, key, ca] = ['redis.pem', 'redis-key.pem', 'ca.pem'].map((file) => certificates.path(file));
  const files = ['--tls-cert-file', `${cert}`, '--tls-key-file', `${key}`, '--tls-auth-clients', 'no'];
  const redis = await RedisProcess.start(t, ['--tls-port', port, ...files]);
  const settings = { REDIS_URL: `rediss://127.0.0.1:${port}`, NODE_EXTRA_CA_CERTS: `${ca}` };
  const server = await start(t, { BUSINESS_PER_DAY: String(PER_DAY), ...settings });
  const list = () => server.grpc.call(Categories.listCategories, { pageToken: '' });
  for (let i = 0; i < PER_DAY; i += 1) await list();
  await t.throwsAsync(list(), { code: Code.RESOURCE_EXHAUSTED });
  t.regex(String(await redis.command('GET', 'petstore:{account:1}:used')), new RegExp(` ${PER_DAY} 1$`));
  redis.pause();
  t.teardown(() => redis.resume());
  await t.throwsAsync(list());
  t.deepEqual(await server.end('SIGTERM'), CLEAN);
  t.notRegex(server.output, /"level":50/);
});
