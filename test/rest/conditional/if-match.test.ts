import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { isError, isInvalid } from '../../support/contract.ts';
import { requestsTo, type TestRequest } from '../../support/resources.ts';
import type { RestClient, RestResponse } from '../../support/rest-client.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';
import { http1 } from '../../support/wire.ts';

const test = anyTest as TestFn<TestStack>;
type Test = ExecutionContext<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

type Write = Pick<TestRequest, 'method' | 'path'> & { readonly json?: object | undefined };

/** Every operation that supports If-Match, each on its own resource. */
const writes = (rest: RestClient) => requestsTo(rest, ({ condition }) => condition === 'if-match');

function send(rest: RestClient, { method, path, json }: Write, ifMatch: string): Promise<RestResponse> {
  return rest.send(method, path, { json, headers: { 'if-match': ifMatch } });
}

async function tagAt(rest: RestClient, path: string): Promise<string> {
  return (await rest.get(path)).headers.get('etag') ?? 'none';
}

/** Asserts that a write is refused with a 412, and that nothing has changed. */
async function isPreconditionFailed(t: Test, write: Write, ifMatch: string): Promise<void> {
  const { rest } = t.context;
  const { body, headers } = await rest.get(write.path);
  const etag = `what is stored has the ETag ${headers.get('etag')} now`;
  const message = `${etag}, which If-Match does not name: read it again before you change it`;
  isError(t, await send(rest, write, ifMatch), 412, 'PRECONDITION_FAILED', message);
  t.deepEqual((await rest.get(write.path)).body, body);
}

test('If-Match - a PUT, PATCH or DELETE with the current tag succeeds', async (t) => {
  const { rest } = t.context;
  for (const write of await writes(rest)) {
    const response = await send(rest, write, await tagAt(rest, write.path));
    t.is(response.status, write.method === 'DELETE' ? 204 : 200, `${write.method} ${write.path}`);
    const { status, body } = await rest.get(write.path);
    if (write.method === 'DELETE') t.is(status, 404);
    else t.like(body, write.json ?? {});
  }
});

test('If-Match - without the current tag is a 412 PRECONDITION_FAILED, and nothing changes', async (t) => {
  for (const write of await writes(t.context.rest)) await isPreconditionFailed(t, write, '"x"');
});

test('If-Match - is a 412 after another caller has changed the resource', async (t) => {
  const { rest } = t.context;
  const path = `/pets/${await rest.pet()}`;
  const read = await tagAt(rest, path);
  await rest.patch(path, { status: 'pending' });
  await isPreconditionFailed(t, { method: 'PATCH', path, json: { name: 'Rex' } }, read);
  await isPreconditionFailed(t, { method: 'DELETE', path }, read);
  await rest.patch(path, { status: 'available' }); // restores what was read
  t.is((await send(rest, { method: 'DELETE', path }, read)).status, 204);
});

test('If-Match - of an inventory entry is a 412 after an order for the pet', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 5 });
  const path = `/store/inventory/${petId}`;
  const [read, pet] = [await tagAt(rest, path), await tagAt(rest, `/pets/${petId}`)];
  await rest.order({ petId, quantity: 2 });
  await isPreconditionFailed(t, { method: 'PUT', path, json: { quantity: 6 } }, read);
  await isPreconditionFailed(t, { method: 'PUT', path, json: { quantity: 6 } }, pet);
  // The pet itself is unchanged.
  t.is((await send(rest, { method: 'PATCH', path: `/pets/${petId}`, json: { name: 'Rex' } }, pet)).status, 200);
});

test('If-Match - * matches any existing resource', async (t) => {
  const { rest } = t.context;
  for (const write of await writes(rest)) t.true((await send(rest, write, '*')).status < 300, write.path);
});

test('If-Match - for an unknown resource is a 404', async (t) => {
  const { rest } = t.context;
  for (const { path, ...write } of await writes(rest)) {
    const nowhere = path.replace(/\d+$/, '999999');
    const plain = await rest.send(write.method, nowhere, { json: write.json });
    for (const ifMatch of ['*', '"x"']) {
      isError(t, await send(rest, { ...write, path: nowhere }, ifMatch), 404, plain.body.code, plain.body.message);
    }
  }
});

test('If-Match - accepts a list, and a weak tag never matches', async (t) => {
  const { rest, publicAddress, key } = t.context;
  const path = `/categories/${await rest.category()}`;
  const write = { method: 'PATCH', path, json: {} };
  const tag = await tagAt(rest, path);
  for (const list of [`"x", ${tag}`, `${tag},`, `W/"x",W/${tag},${tag}`, `"a,b" , ${tag}`]) {
    t.is((await send(rest, write, list)).status, 200, list);
  }
  for (const list of [`W/${tag}`, `"x", W/${tag}`, '""', '"\u00e9"', `"${tag.slice(1, -2)}"`]) {
    await isPreconditionFailed(t, write, list);
  }
  const lines = ['"x"', tag].map((one) => `If-Match: ${one}\r\n`).join('');
  const json = 'Content-Type: application/json\r\nContent-Length: 2\r\n';
  const head = `PATCH ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;
  t.is((await http1(publicAddress, `${head}${json}${lines}\r\n{}`)).status, 200); // several lines are one list
});

test('If-Match - a malformed or empty one is a 400 INVALID_ARGUMENT', async (t) => {
  const { rest } = t.context;
  for (const write of await writes(rest)) {
    for (const list of ['', ' , ', 'x', '"x', '"x" "y"', '*, "x"', 'w/"x"', '\u00e9']) {
      isInvalid(t, await send(rest, write, list), 'if-match');
      t.is((await rest.get(write.path)).status, 200, list);
    }
  }
});

test('If-Match - a 412 comes after a 400 for an invalid request', async (t) => {
  const { rest } = t.context;
  const pet = `/pets/${await rest.pet()}`;
  isInvalid(t, await send(rest, { method: 'PUT', path: pet, json: { name: '' } }, '"x"'), 'name', 'categoryId');
  isInvalid(t, await send(rest, { method: 'PATCH', path: `${pet}?colour=red`, json: {} }, '"x"'), 'colour');
  isInvalid(t, await send(rest, { method: 'DELETE', path: '/pets/abc' }, '"x"'), 'petId');
  const headers = { 'if-match': '"x"', 'content-type': 'application/json' };
  isError(t, await rest.send('PATCH', pet, { raw: '{', headers }), 400, 'MALFORMED_BODY');
  const key = rest.withKey(undefined);
  isError(t, await send(key, { method: 'DELETE', path: pet }, '"x"'), 401, 'API_KEY_MISSING');
});

test('If-Match - a 412 comes before the errors of the method: a 409, or a 400 for an unknown category', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  const petId = await rest.pet({ categoryId, stock: 1 });
  const { id: open } = await rest.order({ petId });
  const { id: closed } = await rest.order({ complete: true });
  const nowhere = { name: 'Tom', categoryId: 999_999 };
  const cases = [
    [{ method: 'PUT', path: `/pets/${petId}`, json: nowhere }, 400, 'UNKNOWN_CATEGORY'],
    [{ method: 'PATCH', path: `/pets/${petId}`, json: nowhere }, 400, 'UNKNOWN_CATEGORY'],
    [{ method: 'DELETE', path: `/pets/${petId}` }, 409, 'PET_IN_USE'],
    [{ method: 'DELETE', path: `/categories/${categoryId}` }, 409, 'CATEGORY_IN_USE'],
    [{ method: 'PATCH', path: `/store/orders/${open}`, json: { quantity: 9 } }, 409, 'INSUFFICIENT_STOCK'],
    [{ method: 'PATCH', path: `/store/orders/${closed}`, json: { quantity: 9 } }, 409, 'ORDER_COMPLETE'],
    [{ method: 'DELETE', path: `/store/orders/${closed}` }, 409, 'ORDER_COMPLETE'],
  ] as const;
  for (const [write, status, code] of cases) {
    await isPreconditionFailed(t, write, '"x"');
    isError(t, await send(rest, write, await tagAt(rest, write.path)), status, code);
  }
});

test('If-Match - is ignored by every other operation, whatever its value', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  const id = await rest.pet({ categoryId });
  for (const value of ['"x"', 'nonsense']) {
    const headers = { 'if-match': value };
    t.is((await rest.get(`/pets/${id}`, { headers })).status, 200);
    t.is((await rest.get('/pets', { headers })).status, 200);
    t.is((await rest.send('POST', '/pets', { json: { name: 'Tom', categoryId }, headers })).status, 201);
    t.is((await rest.send('POST', '/store/orders', { json: {}, headers })).status, 201);
  }
});
