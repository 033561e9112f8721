/** The syntax of idempotency keys, and the operations that support them. */
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

test('Idempotency-Key - is 1 to 255 visible ASCII characters', async (t) => {
  const visible = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).filter((c) => c !== ',');
  for (const key of ['a', '!', '~', '"quoted"', visible.join(''), 'x'.repeat(255)]) {
    t.is((await post(t, key)).status, 201, key);
    t.is((await post(t, key)).headers.get('idempotency-replayed'), 'true', key);
  }
});

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

test('Idempotency-Key - other operations ignore it, even a malformed one', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category('Birds');
  for (const key of ['same', 'same', 'a b', 'x'.repeat(256)]) {
    const send = (method: string, path: string, json?: object) =>
      rest.send(method, path, { ...(json && { json }), headers: { 'idempotency-key': key } });
    const name = `Birds ${key.length}`;
    for (const { status, headers, body } of [
      await send('PUT', `/categories/${categoryId}`, { name }),
      await send('PATCH', `/categories/${categoryId}`, { description: key }),
      await send('GET', `/categories/${categoryId}`),
    ]) {
      t.is(status, 200);
      t.is(body.name, name);
      t.false(headers.has('idempotency-replayed'));
    }
  }
  const headers = { 'idempotency-key': 'gone' };
  t.is((await rest.send('DELETE', `/categories/${categoryId}`, { headers })).status, 204);
  t.is((await rest.send('DELETE', `/categories/${categoryId}`, { headers })).status, 404, 'not a replay of the 204');
});
