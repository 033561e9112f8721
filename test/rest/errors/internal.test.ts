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

/** Changes the database behind the server's back. */
async function sabotage({ config }: TestStack, sql: string): Promise<void> {
  const database = new sqlite3.Database(join(config.dataDir, 'petstore.sqlite'));
  await promisify((text: string, done: (error: Error | null) => void) => database.exec(text, done))(sql);
  await promisify((done: (error: Error | null) => void) => database.close(done))();
}

test('500 - INTERNAL says nothing of the cause, which is logged with the request id', async (t) => {
  const { rest, config } = t.context;
  await sabotage(t.context, 'alter table orders rename to misplaced');
  const responses = [
    await rest.get('/store/orders'),
    await rest.get('/store/orders/1'),
    await rest.post('/store/orders', {}),
    await rest.delete('/store/orders/1'),
  ];
  const log = await readFile(join(config.dataDir, 'logs', 'server.log'), 'utf8');
  const logged = log.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
  for (const response of responses) {
    const requestId = response.headers.get('x-request-id') ?? '';
    isError(t, response, 500, 'INTERNAL', `something went wrong on our side; request id ${requestId}`);
    t.notRegex(response.text, /sql|table|orders/i);
    // The caller of a request with a body is judged first, under the same id.
    const entry = logged.findLast((line) => line.requestId === requestId);
    t.regex(entry?.err?.message ?? '', /no such table: orders/);
  }
  t.is((await rest.get('/pets')).status, 200); // the rest goes on
});
