/** Cancelled work: the deadline has passed, or the caller has left. */
import { status as Code } from '@grpc/grpc-js';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { holdTransaction } from '../support/hold-transaction.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { beginCall } from '../support/unfinished-call.ts';
import { until } from '../support/until.ts';

const test = anyTest as TestFn<TestServer>;

test.beforeEach(async (t) => {
  t.context = await startTestServer();
});
test.afterEach.always((t) => t.context.close());

/**
 * Blocks the writes of the server, as a transaction of another process would. A blocked writer occupies one of Node's
 * four file threads, and this process runs both sides, so the tests run one at a time.
 */
async function holdDatabase({ context: { database } }: ExecutionContext<TestServer>): Promise<() => Promise<void>> {
  const other = await database.open();
  const commit = await holdTransaction(other);
  return async () => {
    await commit();
    await other.close();
  };
}

const names = async ({ context: { grpc } }: ExecutionContext<TestServer>) =>
  (await grpc.call(Categories.listCategories, { pageToken: '' })).categories.map(({ name }) => name);

test.serial('Deadline - that passes while a write waits ends the call, and the write does not happen', async (t) => {
  const { grpc, address, key, logs } = t.context;
  await grpc.category('before');
  const release = await holdDatabase(t);
  const late = async () => {
    const call = await beginCall(address, key, Categories.createCategory, { category: { name: 'too late' } }, 300);
    await t.throwsAsync(call.finish(), { message: `the call ended with grpc-status ${Code.DEADLINE_EXCEEDED}` });
  };
  await Promise.all(Array.from({ length: 5 }, late));
  await release();
  await grpc.category('after');
  t.deepEqual(await names(t), ['before', 'after']);
  const cancelled = () => logs.filter(({ outcome }) => outcome === 'DEADLINE_EXCEEDED').length;
  await until(() => cancelled() === 5, 'the end of the cancelled calls');
});

test.serial('Cancelling - a caller who leaves while a write waits cancels it', async (t) => {
  const { grpc, address, key, logs } = t.context;
  await grpc.category('before');
  const release = await holdDatabase(t);
  const call = await beginCall(address, key, Categories.createCategory, { category: { name: 'cancelled' } });
  await call.cancel();
  await release();
  await until(() => logs.some(({ outcome }) => outcome === 'DEADLINE_EXCEEDED'), 'the end of the cancelled call');
  await grpc.category('after');
  t.deepEqual(await names(t), ['before', 'after']);
});

test.serial('Idempotency key - a call that waits for another with its key ends at its own deadline', async (t) => {
  const { grpc } = t.context;
  const release = await holdDatabase(t);
  const [cats, keyed] = [{ category: { name: 'Cats' } }, { metadata: { 'idempotency-key': 'a' } }];
  const patient = [1, 2].map(() => grpc.exchange(Categories.createCategory, cats, keyed));
  const impatient = await grpc.failure(Categories.createCategory, cats, { ...keyed, timeoutMs: 300 });
  t.is(impatient.code, Code.DEADLINE_EXCEEDED);
  await release();
  const replays = (await Promise.all(patient)).map(({ headers }) => headers.get('idempotency-replayed').join());
  t.deepEqual(replays.sort(), ['', 'true']);
  t.deepEqual(await names(t), ['Cats']);
});
