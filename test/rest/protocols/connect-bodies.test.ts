/** Large, missing and slow request bodies of the Connect protocol. */
import anyTest, { type TestFn } from 'ava';
import { CategoryServiceService as Categories, ListCategoriesRequest } from '../../../gen/petstore/v1/categories.ts';
import { generateKey } from '../../../src/access/keys/format.ts';
import { call, isConnectError, isSuccess, sendRaw } from '../../support/connect-client.ts';
import { halfRequest } from '../../support/hostile/half-request.ts';
import { targetOf } from '../../support/hostile/sockets.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

const list = ListCategoriesRequest.encode({ pageToken: '' }).finish();

/** A message with one unknown field, of this length. */
function ofLength(bytes: number): Buffer {
  const content = bytes - 5;
  const length = [(content & 0x7f) | 0x80, ((content >> 7) & 0x7f) | 0x80, content >> 14];
  return Buffer.concat([Buffer.from([0x9a, 0x06, ...length]), Buffer.alloc(content)]);
}

test('Connect - a message of 64 KiB is validated, a longer one is BODY_TOO_LARGE', async (t) => {
  const { key } = t.context;
  const { path } = Categories.createCategory;
  // So that each of Envoy's threads knows the key (test/hostile/http-errors.test.ts says why).
  for (let i = 0; i < 20; i += 1) {
    const headers = { connection: 'close' };
    isSuccess(t, await call(t.context, Categories.listCategories.path, list, headers));
  }
  isConnectError(t, await call(t.context, path, ofLength(65_536)), 400, 'invalid_argument', 'INVALID_ARGUMENT');
  const authorization = `Authorization: Bearer ${key}`;
  const chunked = Buffer.concat([Buffer.from('10001\r\n'), ofLength(65_537), Buffer.from('\r\n0\r\n\r\n')]);
  for (const [length, body] of [
    ['Content-Length: 65537', ofLength(65_537)],
    ['Content-Length: 65537', Buffer.of()],
    ['Content-Length: 1099511627776', Buffer.of()],
    ['Transfer-Encoding: chunked', chunked],
  ] as const) {
    const response = await sendRaw(t.context, [authorization, length], body);
    isConnectError(t, response, 429, 'resource_exhausted', 'BODY_TOO_LARGE');
  }
});

test('Connect - an anonymous caller is refused by the headers, before the body arrives', async (t) => {
  const { publicAddress } = t.context;
  for (const authorization of [[], [`Authorization: Bearer ${generateKey()}`]]) {
    for (const length of ['Content-Length: 65536', 'Content-Length: 1048576', 'Transfer-Encoding: chunked']) {
      const startedAtMs = performance.now();
      const response = await sendRaw(t.context, [...authorization, length], Buffer.of());
      t.is(response.status, 401);
      t.is(JSON.parse(response.bytes.toString()).code, 'unauthenticated');
      t.true(performance.now() - startedAtMs < 20_000, 'long before the 408');
    }
  }
  const headers = { ':path': Categories.createCategory.path, 'content-type': 'application/proto' };
  t.is((await halfRequest(targetOf(publicAddress, '127.0.0.1'), headers, 'x')).status, 401);
});

test('Connect - a message that is incomplete after 30 s is REQUEST_TIMEOUT', async (t) => {
  const startedAtMs = performance.now();
  const lines = [`Authorization: Bearer ${t.context.key}`, 'Content-Length: 100'];
  const response = await sendRaw(t.context, lines, Buffer.of(0x0a));
  isConnectError(t, response, 504, 'deadline_exceeded', 'REQUEST_TIMEOUT');
  const tookS = (performance.now() - startedAtMs) / 1_000;
  t.true(tookS > 25 && tookS < 50, `it took ${tookS} s`);
});
