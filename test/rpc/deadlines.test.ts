/** Cancelled work: the deadline has passed, or the caller has left. */
import { readFile } from 'node:fs/promises';
import { status as Code } from '@grpc/grpc-js';
import type { ExecutionContext } from 'ava';
import { AdminServiceService as Admin, Plan } from '../../gen/apiplatform/admin/v1/admin.ts';
import { createClient } from '../../gen/client/index.ts';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { EventServiceService as Events } from '../../gen/petstore/v1/events.ts';
import { operatorKeyFile } from '../../src/platform/access/keys/key-files.ts';
import { parseTimeout } from '../../src/platform/protocols/grpc/grpc.ts';
import { statusOfGrpc } from '../support/calls/answers.ts';
import { exchangeAlone, grpcFrame, grpcHeaders } from '../support/calls/http2.ts';
import { beginCall } from '../support/calls/unfinished-call.ts';
import { holdTransaction } from '../support/machine/database.ts';
import { startTestServer, type TestServer } from '../support/service/server.ts';
import { fresh } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';
import { until } from '../support/until.ts';

const test = fresh(undefined, (t) => startTestServer(t));

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

test.serial('Deadline - of a caller who leaves is kept no longer', async (t) => {
  const { address, key } = t.context;
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  const call = () => beginCall(address, key, Categories.createCategory, { category: { name: '' } }, 99_999_999);
  for (const { close } of await Promise.all(Array.from({ length: 40 }, call))) close();
  t.true(await until(() => timers() < before + 20, 'the end of the timers'));
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

test('Deadline - any of the grammar is that time, nothing else is one', (t) => {
  const most = 99_999_999;
  for (const [text, ms] of [
    ['0n', 0],
    [`${most}H`, most * 3_600_000],
    [`${most}M`, most * 60_000],
    [`${most}S`, most * 1_000],
    [`${most}m`, most],
    [`${most}u`, most / 1_000],
    ['00000001S', 1_000],
  ] as const) {
    t.is(parseTimeout(text), ms, text);
  }
  for (const text of ['', '1', 'S', '1s', '1.5S', ' 1S', '1S ', '-1S', '123456789m', '1S1S', '1S, 1S', '\u0661S']) {
    t.is(parseTimeout(text), undefined, text);
  }
});

/** These were over at once, or after less than a second. */
const MONTHS = ['2592000S', '4294968S', '5184000S', '99999999H', '99999999M', '99999999S', '99999999m'];

/** These were read as a shorter one. */
const WRONG = ['1.5S', '123456789m'];

test.serial('Deadline - that passes while a new key waits: none is made, which nobody would have seen', async (t) => {
  const { operator, address, config } = t.context;
  const { id: accountId } = await operator.account(Plan.PLAN_FREE);
  const operatorKey = (await readFile(operatorKeyFile(config.dataDir), 'utf8')).trim();
  const release = await holdDatabase(t);
  const call = await beginCall(address, operatorKey, Admin.createKey, { accountId, expireTime: undefined }, 300);
  await t.throwsAsync(call.finish(), { message: `the call ended with grpc-status ${Code.DEADLINE_EXCEEDED}` });
  await release();
  await operator.account(Plan.PLAN_FREE); // its write comes after that of the key
  t.deepEqual((await operator.call(Admin.listKeys, { accountId, pageToken: '' })).keys, []);
});

test('Deadline - of a month or of 99,999,999 hours is no shorter one, on both ports and over gRPC-Web', async (t) => {
  const stack = await startTestStack(t);
  for (const [address, type] of [
    ['grpcAddress', 'application/grpc'],
    ['publicAddress', 'application/grpc'],
    ['publicAddress', 'application/grpc-web+proto'],
  ] as const) {
    const send = async (path: string, timeout: string, key?: string) => {
      const headers = { ...grpcHeaders(path, key), 'content-type': type, 'grpc-timeout': timeout };
      const giveUpMs = path === Events.watchEvents.path ? 1_500 : 20_000;
      const sent = { body: grpcFrame(), giveUpMs };
      const answer = await exchangeAlone(stack[address], headers, sent);
      return statusOfGrpc(answer) ?? answer.outcome;
    };
    if (address === 'grpcAddress') t.is(await send(Categories.listCategories.path, '0n'), Code.UNAUTHENTICATED);
    t.is(await send(Categories.listCategories.path, '0n', stack.key), Code.DEADLINE_EXCEEDED);
    for (const [path, status] of [
      [Categories.listCategories.path, Code.OK],
      [Events.watchEvents.path, 'left'],
    ] as const) {
      const ended = await Promise.all([...MONTHS, ...WRONG].map((timeout) => send(path, timeout, stack.key)));
      const expected = [...MONTHS.map(() => status), ...WRONG.map(() => Code.INVALID_ARGUMENT)];
      t.deepEqual(ended, expected, `${path} at ${address}`);
    }
  }
});

test('Deadline - of a month or more, of the typed client, is no shorter one', async (t) => {
  const { address, key } = t.context;
  const client = createClient({ address, apiKey: key });
  t.teardown(() => client.close());
  for (const timeoutMs of [30 * 86_400_000, 2 ** 31, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY]) {
    t.deepEqual((await client.categories.listCategories({}, { timeoutMs })).categories, []);
  }
});
