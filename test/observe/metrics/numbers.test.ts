/** The numbers of the metrics on real servers: each is checked after the event that it counts. */
import { Client } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { HealthService } from '../../../gen/grpc/health/v1/health.ts';
import { Plan } from '../../../gen/petstore/admin/v1/admin.ts';
import { CategoryServiceService as Categories } from '../../../gen/petstore/v1/categories.ts';
import { PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import { scrape, sumOf, untilSum } from '../../support/exposition.ts';
import { bearer, insecure, unary } from '../../support/grpc.ts';
import { withinOneMinute } from '../../support/limit-windows.ts';
import { connectOperator } from '../../support/operator.ts';
import { freePorts } from '../../support/ports.ts';
import { createDataDir, type ServerProcess, startServerProcess } from '../../support/process.ts';
import { beginCall } from '../../support/unfinished-call.ts';

interface Context {
  readonly server: ServerProcess;
  readonly port: number;
  readonly client: Client;
  readonly remove: () => Promise<void>;
}
const test = anyTest as TestFn<Context>;

const GET_PET = { method: 'petstore.v1.PetService/GetPet' };
const UNKNOWN_PET = 999n;

test.beforeEach(async (t) => {
  const { path, remove } = await createDataDir();
  const [port = 0] = await freePorts(1);
  const settings = { METRICS_PORT: String(port), FREE_PER_MINUTE: '5', BAN_REFUSALS: '3' };
  const server = await startServerProcess(path, settings);
  t.context = { server, port, client: new Client(server.address, insecure), remove };
});
test.afterEach.always(async ({ context: { server, client, remove } }) => {
  client.close();
  server.grpc.close();
  await server.end('SIGTERM');
  await remove();
});

test('Calls - are counted by method and gRPC status, with their durations', async (t) => {
  const { server, port } = t.context;
  for (const id of [UNKNOWN_PET, UNKNOWN_PET]) await t.throwsAsync(server.grpc.call(Pets.getPet, { petId: id }));
  await server.grpc.call(Pets.listPets, Pets.listPets.requestDeserialize(Buffer.alloc(0)));
  await untilSum(port, 'petstore_grpc_calls_total', { method: 'petstore.v1.PetService/ListPets' }, (sum) => sum === 1);
  const text = await scrape(port);
  t.is(sumOf(text, 'petstore_grpc_calls_total', { ...GET_PET, code: 'NOT_FOUND' }), 2);
  t.is(sumOf(text, 'petstore_grpc_call_duration_seconds_count', GET_PET), 2);
  t.is(sumOf(text, 'petstore_grpc_call_duration_seconds_bucket', { ...GET_PET, le: '+Inf' }), 2);
  t.is(sumOf(text, 'petstore_errors_total', { reason: 'PET_NOT_FOUND', plan: 'business' }), 2);
});

test('Calls - open ones are shown, and one whose caller disconnects is CANCELLED, not an error', async (t) => {
  const { server, port } = t.context;
  const request = { category: { name: 'Cats' } };
  const call = await beginCall(server.address, server.key, Categories.createCategory, request);
  await untilSum(port, 'petstore_grpc_open_calls', { kind: 'unary' }, (sum) => sum === 1);
  call.close();
  const method = 'petstore.v1.CategoryService/CreateCategory';
  await untilSum(port, 'petstore_grpc_calls_total', { method, code: 'CANCELLED' }, (sum) => sum === 1);
  const text = await scrape(port);
  t.is(sumOf(text, 'petstore_grpc_open_calls', { kind: 'unary' }), 0);
  t.is(sumOf(text, 'petstore_errors_total'), 0);
});

test('Calls - of methods that do not exist are counted as "unknown", whatever their path', async (t) => {
  const { server, client, port } = t.context;
  for (const path of ['/a.b.C/D', '/petstore.v1.PetService/Nothing']) {
    await t.throwsAsync(unary(client, { ...HealthService.check, path }, { service: '' }, bearer(server.key)));
  }
  const text = await scrape(port);
  t.is(sumOf(text, 'petstore_grpc_calls_total', { method: 'unknown', code: 'UNIMPLEMENTED' }), 2);
});

test('Calls - health checks are counted, and a watch from start to end', async (t) => {
  const { client, port } = t.context;
  const method = 'grpc.health.v1.Health/Watch';
  await unary(client, HealthService.check, { service: '' });
  const { path, requestSerialize, responseDeserialize } = HealthService.watch;
  const watch = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, { service: '' });
  watch.on('error', () => undefined).resume();
  await untilSum(port, 'petstore_grpc_open_calls', { kind: 'stream' }, (sum) => sum === 1);
  t.is(sumOf(await scrape(port), 'petstore_grpc_calls_total', { method: 'grpc.health.v1.Health/Check' }), 1);
  watch.cancel();
  await untilSum(port, 'petstore_grpc_calls_total', { method, code: 'CANCELLED' }, (sum) => sum === 1);
  t.is(sumOf(await scrape(port), 'petstore_grpc_open_calls', { kind: 'stream' }), 0);
});

test('Limits - refusals and bans are counted by plan, and errors without a valid key under none', async (t) => {
  const { server, port } = t.context;
  const operator = await connectOperator({ grpcAddress: server.address, config: { dataDir: server.dataDir } });
  const key = await operator.keyOf(Plan.PLAN_FREE);
  operator.close();
  const call = (apiKey: string | undefined) =>
    unary(t.context.client, Pets.getPet, { petId: UNKNOWN_PET }, bearer(apiKey)).catch(() => undefined);
  await withinOneMinute(5_000);
  // Five calls are admitted, three are refused (the third begins a ban), and two are banned.
  for (let sent = 0; sent < 10; sent += 1) await call(key);
  for (const wrong of [undefined, 'pst_no_key_at_all']) await call(wrong);
  const errors = 'petstore_errors_total';
  await untilSum(port, errors, { reason: 'API_KEY_INVALID', plan: 'none' }, (sum) => sum === 1);
  const text = await scrape(port);
  t.is(sumOf(text, errors, { reason: 'PET_NOT_FOUND', plan: 'free' }), 5);
  t.is(sumOf(text, errors, { reason: 'RATE_LIMITED', plan: 'free' }), 3);
  t.is(sumOf(text, errors, { reason: 'API_KEY_BANNED', plan: 'free' }), 2);
  t.is(sumOf(text, errors, { reason: 'API_KEY_MISSING', plan: 'none' }), 1);
  t.is(sumOf(text, 'petstore_bans_total', { plan: 'free' }), 1);
  t.is(sumOf(text, 'petstore_bans_total'), 1);
});

test('Keys - look-ups in the cache are hits or misses', async (t) => {
  const { server, port } = t.context;
  for (let sent = 0; sent < 3; sent += 1) await t.throwsAsync(server.grpc.call(Pets.getPet, { petId: UNKNOWN_PET }));
  await untilSum(port, 'petstore_grpc_calls_total', GET_PET, (sum) => sum === 3);
  const text = await scrape(port);
  const lookups = (result: string) => sumOf(text, 'petstore_key_cache_lookups_total', { result });
  t.deepEqual([lookups('hit'), lookups('miss')], [2, 1]);
  t.is(sumOf(text, 'petstore_key_cache_keys'), 1);
});

test('Storage - writes and their shared commits are counted', async (t) => {
  const { server, port } = t.context;
  const size = 'petstore_group_commit_writes_sum';
  const before = sumOf(await scrape(port), size) ?? 0;
  await Promise.all(Array.from({ length: 20 }, () => server.grpc.category()));
  await untilSum(port, size, {}, (sum) => sum >= before + 20);
  const text = await scrape(port);
  const commits = sumOf(text, 'petstore_group_commit_writes_count') ?? 0;
  t.true(commits < (sumOf(text, size) ?? 0), 'no writes shared a commit');
  t.is(sumOf(text, 'petstore_group_commit_duration_seconds_count'), commits);
  t.is(sumOf(text, 'petstore_group_commit_wait_seconds_count'), sumOf(text, size));
  t.is(sumOf(text, 'petstore_database_up'), 1);
});

test('Idempotency - a replayed response is counted', async (t) => {
  const { server, port } = t.context;
  const metadata = { 'idempotency-key': 'one' };
  const request = { category: { name: 'Cats' } };
  for (let sent = 0; sent < 3; sent += 1) await server.grpc.call(Categories.createCategory, request, { metadata });
  await untilSum(port, 'petstore_idempotent_replays_total', {}, (sum) => sum === 2);
  t.pass();
});

test('Process - CPU, memory, garbage collection, event loop delay and build are shown', async (t) => {
  const text = await scrape(t.context.port);
  for (const name of ['process_cpu_seconds_total', 'process_resident_memory_bytes', 'nodejs_heap_size_used_bytes']) {
    t.true((sumOf(text, name) ?? 0) > 0, name);
  }
  t.true((sumOf(text, 'nodejs_eventloop_lag_p99_seconds') ?? 0) > 0);
  t.regex(text, /^# TYPE nodejs_gc_duration_seconds histogram$/m);
  t.is(sumOf(text, 'petstore_build_info', { version: '1.0.0', node: process.versions.node }), 1);
});

test('Labels - hold no key, account or address', async (t) => {
  const { server, port } = t.context;
  await server.grpc.category();
  await t.throwsAsync(server.grpc.withKey('pst_somebody').call(Pets.getPet, { petId: UNKNOWN_PET }));
  await untilSum(port, 'petstore_errors_total', { reason: 'API_KEY_INVALID' }, (sum) => sum === 1);
  const labels = [...(await scrape(port)).matchAll(/(\w+)="/g)].map(([, label]) => label);
  const known = ['method', 'code', 'kind', 'reason', 'plan', 'result', 'le', 'version', 'node', 'commit', 'space'];
  t.deepEqual(
    [...new Set(labels)].filter((label) => !known.includes(label ?? '')),
    [],
  );
});
