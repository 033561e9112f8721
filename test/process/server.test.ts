/**
 * The server's process: its start, its end after a signal, also while PostgreSQL or Redis hangs, by kill -9, or with
 * its launcher; and one whose clock is wrong.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { status as Code, type ServiceError } from '@grpc/grpc-js';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { InventoryServiceService as Inventory } from '../../gen/petstore/v1/inventory.ts';
import { OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { generateKey } from '../../src/platform/access/keys/format.ts';
import { openSqlite } from '../../src/platform/storage/sqlite.ts';
import { MIGRATIONS } from '../../src/schema.ts';
import { GrpcCaller } from '../support/calls/grpc-caller.ts';
import { beginCall } from '../support/calls/unfinished-call.ts';
import { change } from '../support/machine/database.ts';
import { postgresMissing, query, startPostgres } from '../support/machine/postgres.ts';
import { MISSING_REDIS_SERVER, startRedis } from '../support/machine/redis.ts';
import { openProxy } from '../support/machine/tcp-proxy.ts';
import { makeCertificates, noOpenssl } from '../support/machine/tls.ts';
import { freePorts, temporaryFolder } from '../support/scope.ts';
import { type ServerProcess, startServerProcess, TestProcess } from '../support/service/process.ts';
import { sharedMissing, startShared } from '../support/service/shared.ts';
import { fresh, type SharedBy, type TestOf, testUnless } from '../support/service/sharing.ts';
import { until, withinOneDay } from '../support/until.ts';

const CLEAN = { code: 0, signal: null };
const PER_DAY = 5;

const test = fresh(undefined, (t) => ({ dataDir: temporaryFolder(t) }));
type Context = SharedBy<typeof test>;

function start(t: TestOf<typeof test>, settings?: Readonly<Record<string, string>>): Promise<ServerProcess> {
  return startServerProcess(t, t.context.dataDir, settings);
}

const databaseFiles = (folder: string) => readdirSync(folder).filter((name) => name.includes('sqlite'));

const MIGRATED = "the database's schema is up to date now";
const saidBy = ({ output }: TestProcess) => Array.from(output.matchAll(/"msg":"(.*?)"/g), ([, message]) => message);

/** Begins to create a category, whose request is not complete. */
const begin = ({ address, key }: ServerProcess) =>
  beginCall(address, key, Categories.createCategory, { category: { name: 'Late' } });

test('SIGINT - an idle server exits with 0 and leaves one closed file, private whatever the umask', async (t) => {
  const { dataDir } = t.context;
  chmodSync(dataDir, 0o777);
  const server = await start(t, { NODE_OPTIONS: '--import=data:text/javascript,process.umask(0)' });
  await server.grpc.category();
  for (const name of readdirSync(dataDir)) t.is(statSync(`${dataDir}/${name}`).mode & 0o777, 0o600, name);
  t.is(statSync(dataDir).mode & 0o777, 0o700);
  t.deepEqual(await server.end('SIGINT'), CLEAN);
  t.deepEqual(databaseFiles(dataDir), ['petstore.sqlite']);
  t.is(server.errors, '');
  t.deepEqual(saidBy(server), ['migrating the database', MIGRATED, 'serving', 'draining', 'stopped']);
});

test('SIGTERM - open calls finish and their writes are kept, while new calls are refused', async (t) => {
  const { dataDir } = t.context;
  const server = await start(t);
  const call = await begin(server);
  const kept: bigint[] = [];
  const codes = new Set<Code>();
  const writers = Array.from({ length: 16 }, async () => {
    try {
      for (;;) kept.push(await server.grpc.category());
    } catch (error) {
      codes.add((error as ServiceError).code);
    }
  });
  await until(() => kept.length > 100, 'the first writes');
  server.process.kill('SIGTERM');
  await Promise.all(writers);
  t.deepEqual([...codes], [Code.UNAVAILABLE]);
  t.false(server.hasEnded);
  kept.push((await call.finish()).id);
  t.deepEqual(await server.ended, CLEAN);
  t.deepEqual(databaseFiles(dataDir), ['petstore.sqlite']);
  using database = new DatabaseSync(`${dataDir}/petstore.sqlite`, { readBigInts: true });
  const rows = database.prepare('SELECT id, name FROM categories').all();
  const found = new Map(rows.map(({ id, name }) => [id, name]));
  t.true(kept.every((id) => found.has(id)));
  t.is(found.get(kept.at(-1) ?? 0n), 'Late');
});

test('Ctrl-C - that the terminal and npm both send is one, which ends no open call; a later one does', async (t) => {
  const server = await start(t);
  const call = await begin(server);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) server.process.kill(signal); // two of a kind may become one
  await server.says(/"draining"/);
  await delay(700); // another key press
  t.false(server.hasEnded);
  t.deepEqual(await server.end('SIGINT'), { code: 1, signal: null });
  await t.throwsAsync(call.answered);
  call.close();
});

test('SIGTERM - a call that does not end is cut off after 10 seconds', async (t) => {
  const server = await start(t);
  const call = await begin(server);
  const beganMs = performance.now();
  t.deepEqual(await server.end('SIGTERM'), CLEAN);
  const tookMs = performance.now() - beganMs;
  t.true(tookMs > 9_500 && tookMs < 15_000, `${tookMs} ms`);
  await t.throwsAsync(call.answered);
  t.deepEqual(databaseFiles(t.context.dataDir), ['petstore.sqlite']);
  call.close();
});

test('Keys - are removed from an error that ends the process', async (t) => {
  const key = generateKey();
  const throwOnSignal = "process.on('SIGUSR2',()=>{throw(new(Error)(process.env.KEY))})";
  const server = await start(t, { KEY: `no ${key}`, NODE_OPTIONS: `--import=data:text/javascript,${throwOnSignal}` });
  t.deepEqual(await server.end('SIGUSR2'), { code: 1, signal: null });
  t.regex(server.errors, /^petstore: Error: no \(a key\)\n/);
  t.false(server.errors.includes(key.slice(4)));
});

test('Orphaned server - exits when its launcher ends during its start', async (t) => {
  const env = { ...process.env, DATA_DIR: t.context.dataDir, GRPC_PORT: String((await freePorts(1))[0]) };
  const server = spawn(process.execPath, ['src/main.ts'], { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  t.teardown(() => server.kill('SIGKILL'));
  const ended = once(server, 'exit');
  server.disconnect();
  t.deepEqual(await ended, [0, null]);
});

async function run(program: 'main' | 'migrate-main', settings: Readonly<Record<string, string>>) {
  const ran = new TestProcess(`src/${program}.ts`, { GRPC_PORT: String((await freePorts(1))[0]), ...settings });
  const { code } = await ran.ended;
  return { code, said: saidBy(ran), errors: ran.errors };
}

test('Migrate - with MIGRATE_AT_START=no a server fails with one line before it, and starts after it', async (t) => {
  const settings = { DATA_DIR: t.context.dataDir, MIGRATE_AT_START: 'no' };
  const refused = await run('main', settings);
  t.is(refused.code, 1);
  t.regex(refused.errors, /^petstore: the database lacks the migrations 002-accounts, .*: run "npm run migrate".*\n$/);
  const said = ['migrating the database', MIGRATED, 'nothing is left to migrate'];
  t.deepEqual(await run('migrate-main', settings), { code: 0, said, errors: '' });
  const server = await start(t, settings);
  t.truthy(await server.grpc.category());
  t.deepEqual(await server.end('SIGTERM'), CLEAN);
});

test('Migrate - refuses the schema of a newer release with one line, as a server does', async (t) => {
  const file = `${t.context.dataDir}/petstore.sqlite`;
  await (await openSqlite(file, MIGRATIONS)).close();
  change(t.context.dataDir, "INSERT INTO schema_migrations (name, batch) VALUES ('999-future', 1)");
  const before = readFileSync(file);
  for (const program of ['migrate-main', 'main'] as const) {
    const { code, errors } = await run(program, { DATA_DIR: t.context.dataDir });
    t.is(code, 1);
    t.regex(errors, /^petstore: the database has the migrations 999-future of a newer release, .*\n$/);
  }
  t.deepEqual(readFileSync(file), before);
});

test('kill -9 - between commit and response: a retry gets the first response, with no second write', async (t) => {
  const first = await start(t);
  const petId = await first.grpc.pet({ stock: 5 });
  const proxy = await openProxy(t, Number(first.address.split(':')[1]));
  const caller = new GrpcCaller(`127.0.0.1:${proxy.port}`, first.key);
  await caller.category(); // opens the connection
  proxy.dropResponses();
  const request = { order: { petId, quantity: 2 } };
  const withKey = { metadata: { 'idempotency-key': 'a' } };
  const unanswered = caller.failure(Orders.placeOrder, request, withKey);
  const stock = async ({ grpc }: ServerProcess) => (await grpc.call(Inventory.getInventoryItem, { petId })).quantity;
  await until(async () => (await stock(first)) === 3, 'the commit');
  await first.end('SIGKILL');
  proxy.refuse();
  t.truthy(await unanswered);
  caller.close();

  const second = await start(t);
  const again = await second.grpc.exchange(Orders.placeOrder, request, withKey);
  t.deepEqual(again.headers.get('idempotency-replayed'), ['true']);
  const placed = await second.grpc.call(Orders.listOrders, { petId, pageToken: '' });
  t.deepEqual(placed.orders, [again.message]);
  t.is(await stock(second), 3);
});

test('kill -9 - during the first start, when demo.key appears: the next start succeeds', async (t) => {
  const { dataDir } = t.context;
  const [port] = await freePorts(1);
  const first = new TestProcess('src/main.ts', { DATA_DIR: dataDir, GRPC_PORT: String(port) });
  await until(() => existsSync(`${dataDir}/demo.key`), 'the key').finally(() => first.end('SIGKILL'));
  t.truthy(await (await start(t)).grpc.category());
});

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
  const redis = await startRedis(t, ['--tls-port', port, ...files]);
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

const AHEAD = { NODE_OPTIONS: '--import data:text/javascript,const%20now=Date.now;Date.now=()=>now()+4e9' }; // 46 days

const clockTest = testUnless<Context>(sharedMissing);

clockTest('Clock - a server that is days ahead deletes neither idempotency records nor events too early', async (t) => {
  const shared = await startShared(t);
  const settings = await shared.settings();
  const url = settings.DATABASE_URL ?? '';
  const { grpc: right } = await start(t, settings);
  await query(url, "INSERT INTO events (type, time_ms, resource) VALUES ('category.deleted', 0, '{}')");
  // The only record so far. What is old comes before what is kept.
  await query(url, "UPDATE idempotency_records SET id = 'old', created_at_ms = 0");
  const create = () =>
    right.exchange(Categories.createCategory, { category: { name: 'Cats' } }, { metadata: { 'idempotency-key': 'a' } });
  const { message: first } = await create();
  await right.category();
  const count = async (what: string) => Number((await query(url, `SELECT count(*) FROM ${what}`))[0]?.count);
  await start(t, { ...settings, ...AHEAD });
  await until(async () => (await count("idempotency_records WHERE id = 'old'")) === 0, 'the deletion of what is old');
  await until(async () => (await count('events WHERE time_ms = 0')) === 0, 'that of the events');
  const again = await create();
  t.deepEqual([again.message, again.headers.get('idempotency-replayed')], [first, ['true']]);
  t.is(await count('categories'), 2);
  t.is(await count('events'), 2);
});
