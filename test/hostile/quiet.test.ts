/** What anonymous callers can make the service log. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestFn } from 'ava';
import { callWithByte, logGrowth, logsOf, ODD_BYTES, sendBytes, VALUE } from '../support/hostile/odd-headers.ts';
import { hostileMissing } from '../support/hostile/resources.ts';
import { testUnless } from '../support/programs.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

const test: TestFn<TestStack> = testUnless(hostileMissing);

test.before(async (t) => {
  t.context = await startTestStack({ LOG_LEVEL: 'info' });
});
test.after.always((t) => t.context.close());

/** Enough for one log line about the error. */
const MAX_GROWTH = 1_000;

for (const byte of ODD_BYTES) {
  test.serial(`Logs - contain no header with the byte ${byte.charCodeAt(0).toString(16)}`, async (t) => {
    const bytes = await logGrowth(t.context, byte);
    t.true(bytes < MAX_GROWTH, `they grew by ${bytes} bytes`);
    t.false((await logsOf(t.context)).includes(VALUE));
  });
}

test.serial('Logs - contain no header with these bytes over HTTP/2 or at the private port', async (t) => {
  for (const address of [t.context.publicAddress, t.context.grpcAddress]) {
    for (const byte of ODD_BYTES) await callWithByte(address, byte);
  }
  t.false((await logsOf(t.context)).includes(VALUE));
});

test.serial('Logs - contain no key, whatever surrounds it', async (t) => {
  const { key, config } = t.context;
  const values = [`Bearer ${key}\xe9`, `\xe9Bearer ${key}`, `Bearer ${key} \xff`, `Bearer \x80${key}`, `${key}\xe9`];
  const head = 'HTTP/1.1\r\nHost: petstore\r\n';
  const web = 'Content-Type: application/grpc-web\r\nContent-Length: 5\r\n';
  for (const value of values) {
    await sendBytes(t.context, `GET /pets ${head}Authorization: ${value}\r\n\r\n`);
    await sendBytes(t.context, `GET /pets ${head}X-Api-Key: ${value}\r\n\r\n`);
    const call = `POST /petstore.v1.PetService/ListPets ${head}${web}Authorization: ${value}\r\n\r\n`;
    await sendBytes(t.context, `${call}\0\0\0\0\0`);
  }
  await sendBytes(t.context, `GET /pets?key=${key}&x=\xe9 ${head}\r\n`);
  await sendBytes(t.context, `GET /pets?key=${key} ${head}\r\n`);
  const access = await readFile(join(config.dataDir, 'logs', 'access.log'), 'latin1');
  t.false(((await logsOf(t.context)) + access).includes(key.slice(0, 20)));
});
