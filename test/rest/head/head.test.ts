import anyTest, { type TestFn } from 'ava';
import { requestsTo } from '../../support/resources.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

/** Headers that differ from one request to the next. `fetch` asks to close the connection after a HEAD. */
const VARYING = ['connection', 'date', 'x-request-id', 'x-ratelimit-remaining', 'x-ratelimit-reset'];

function constant(headers: Headers): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => !VARYING.includes(name)));
}

test('HEAD - has the status and headers of GET on every route, and no body', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet();
  await rest.pet();
  const reads = await requestsTo(rest, ({ method }) => method === 'GET');
  const paths = [
    ...reads.map(({ path }) => path),
    ...['/pets/', '/store/orders/'],
    // With a Link header, and with empty lists.
    ...['/pets?limit=1', `/pets?ids=${petId}`, '/pets?status=sold', '/store/orders?complete=true'],
    ...reads.flatMap(({ path, operation }) => (operation.idName ? [path.replace(/\d+$/, '999999')] : [])),
    ...['/pets?limit=0', '/pets?colour=red', '/pets?pageToken=x'],
  ];
  for (const path of paths) {
    const [get, head] = [await rest.get(path), await rest.send('HEAD', path)];
    t.is(head.status, get.status, path);
    t.is(head.text, '', path);
    t.deepEqual(constant(head.headers), constant(get.headers), path);
    t.is(Number(head.headers.get('content-length')), Buffer.byteLength(get.text), path);
  }
});

test('HEAD - with a value of the wrong type has the status and headers of GET, without the length', async (t) => {
  const { rest } = t.context;
  for (const path of ['/pets/abc', '/pets?limit=x']) {
    const [get, head] = [await rest.get(path), await rest.send('HEAD', path)];
    const { 'content-length': length, ...others } = constant(get.headers);
    t.is(Number(length), Buffer.byteLength(get.text));
    t.is(head.status, get.status);
    t.is(head.text, '');
    const { 'transfer-encoding': _, ...headers } = constant(head.headers);
    t.deepEqual(headers, others);
  }
});

test('HEAD - of an unknown path is a 404', async (t) => {
  const { status, headers, text } = await t.context.rest.send('HEAD', '/nope');
  t.is(status, 404);
  t.is(headers.get('content-type'), 'application/json');
  t.is(text, '');
});
