import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import anyTest, { type TestFn } from 'ava';
import sqlite3 from 'sqlite3';
import { isError } from '../../support/contract.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

/** Changes the database directly, without the server. */
async function sabotage({ config }: TestStack, sql: string): Promise<void> {
  const database = new sqlite3.Database(join(config.dataDir, 'petstore.sqlite'));
  await promisify((text: string, done: (error: Error | null) => void) => database.exec(text, done))(sql);
  await promisify((done: (error: Error | null) => void) => database.close(done))();
}

/** The log lines of one request, so far. */
async function logOf({ config }: TestStack, requestId: string) {
  const log = await readFile(join(config.dataDir, 'logs', 'server.log'), 'utf8');
  const lines = log.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
  return lines.filter((line) => line.requestId === requestId);
}

test.serial(
  '500 - a response that can not be serialized is INTERNAL, logged with its cause and the request id',
  async (t) => {
    const { rest } = t.context;
    const petId = await rest.pet();
    // More than the int32 of the response can hold, and more than the table allows.
    const sql = `update pets set quantity = 3000000000 where id = ${petId}`;
    await sabotage(t.context, `pragma ignore_check_constraints = on; ${sql}`);
    for (const path of [`/store/inventory/${petId}`, '/store/inventory?limit=100']) {
      const response = await rest.get(path);
      const requestId = response.headers.get('x-request-id') ?? '';
      isError(t, response, 500, 'INTERNAL', `something went wrong on our side; request id ${requestId}`);
      const [entry, ...others] = await logOf(t.context, requestId);
      t.like(entry, { outcome: 'INTERNAL', level: 50 });
      t.regex(entry.err.message, /invalid int32: 3000000000/);
      t.deepEqual(others, []);
    }
    t.is((await rest.get('/pets')).status, 200); // other requests succeed
  },
);

test.serial('500 - INTERNAL does not contain the cause, which is logged with the request id', async (t) => {
  const { rest } = t.context;
  await sabotage(t.context, 'alter table orders rename to misplaced');
  const responses = [
    await rest.get('/store/orders'),
    await rest.get('/store/orders/1'),
    await rest.post('/store/orders', {}),
    await rest.delete('/store/orders/1'),
  ];
  for (const response of responses) {
    const requestId = response.headers.get('x-request-id') ?? '';
    isError(t, response, 500, 'INTERNAL', `something went wrong on our side; request id ${requestId}`);
    t.notRegex(response.text, /sql|table|orders/i);
    // A request with a body is judged in a separate call before, with the same request id.
    const entry = (await logOf(t.context, requestId)).at(-1);
    t.regex(entry?.err?.message ?? '', /no such table: orders/);
  }
  t.is((await rest.get('/pets')).status, 200); // other requests succeed
});
