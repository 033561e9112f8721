/** The syntax of idempotency keys, through Envoy. */
import { request as httpRequest } from 'node:http';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { isInvalid } from '../../support/contract.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

const post = ({ context: { rest } }: ExecutionContext<TestStack>, key: string) =>
  rest.send('POST', '/categories', { json: { name: 'Cats' }, headers: { 'idempotency-key': key } });

test.serial(
  'Idempotency-Key - a malformed one is a 400 INVALID_ARGUMENT with its name, and nothing is created',
  async (t) => {
    const { rest } = t.context;
    const { body: before } = await rest.get('/categories?limit=100');
    for (const key of ['', 'a b', 'a,b', ',', 'x'.repeat(256), 'x'.repeat(2_000)]) {
      isInvalid(t, await post(t, key), 'idempotency-key');
    }
    const { status, body } = await rest.send('POST', '/store/orders', { headers: { 'idempotency-key': 'a b' } });
    t.is(status, 400, JSON.stringify(body));
    t.deepEqual((await rest.get('/categories?limit=100')).body, before);
    t.deepEqual((await rest.get('/store/orders')).body, []);
  },
);

/** Sends bytes and repeated headers, which `fetch` refuses. */
function sendRaw({ config, key }: TestStack, keys: readonly string[]): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      {
        ...{ host: '127.0.0.1', port: config.port, path: '/categories', method: 'POST' },
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'idempotency-key': [...keys],
        },
      },
      (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      },
    );
    sent.on('error', reject);
    sent.end('{"name":"Cats"}');
  });
}

test('Idempotency-Key - bytes beyond ASCII, a tab, and a repeated header are a 400 too', async (t) => {
  for (const keys of [['caf\u00e9'], ['\u00ff'], ['a\tb'], ['a', 'b'], ['a', 'a'], ['a', '\u00e9'], ['\u00e9', 'a']]) {
    const { status, text } = await sendRaw(t.context, keys);
    t.is(status, 400, `${keys}: ${text}`);
    t.regex(text, /"code":"INVALID_ARGUMENT","message":"idempotency-key: /);
  }
});
