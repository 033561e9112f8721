/** Entity tags and conditional requests through Envoy. How lists of tags are parsed: test/shop/entity-tags.test.ts. */
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { isError, isInvalid } from '../support/contract.ts';
import { LISTS, requestsTo, type TestRequest } from '../support/resources.ts';
import type { RestClient, RestResponse } from '../support/rest-client.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { http1, http2 } from '../support/wire.ts';

const test = anyTest as TestFn<TestStack>;
type Test = ExecutionContext<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

const etagOf = ({ headers }: RestResponse) => headers.get('etag') ?? 'none';
const tagAt = async (rest: RestClient, path: string) => etagOf(await rest.get(path));
const readIf = (rest: RestClient, path: string, tags: string, method = 'GET') =>
  rest.send(method, path, { headers: { 'if-none-match': tags } });

test('ETag - every response with one pet, category, order or inventory entry has a strong one', async (t) => {
  const { rest } = t.context;
  for (const { method, path, json } of await requestsTo(rest, ({ isTagged }) => isTagged)) {
    t.regex(etagOf(await rest.send(method, path, { json })), /^"[\w-]{22}"$/, `${method} ${path}`);
  }
});

test('ETag - lists, errors and responses without a body have none', async (t) => {
  const { rest } = t.context;
  const responses = await Promise.all([
    ...LISTS.map(({ template }) => rest.get(template)),
    rest.get('/pets/999999'),
    rest.put('/pets/1', {}),
    rest.delete(`/pets/${await rest.pet()}`),
  ]);
  for (const response of responses) t.is(etagOf(response), 'none', response.text);
});

test('ETag - is the same for the same representation, in responses to GET, HEAD, POST, PUT and PATCH', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  const petId = await rest.pet({ stock: 5 });
  const created = [
    ['/categories', { name: ' Cats ', description: '' }],
    ['/pets', { name: 'Tom 😀', categoryId, status: 'sold' }],
    ['/store/orders', { petId, quantity: 2, shipDate: '2027-01-01T00:00:00.123456789Z' }],
    ['/store/orders', { shipDate: '1970-01-01T00:00:00Z' }],
    ['/store/orders', undefined],
  ] as const;
  for (const [list, json] of created) {
    const response = await rest.post(list, json);
    const path = `${list}/${response.body.id}`;
    const others = [await rest.get(path), await rest.send('HEAD', path), await rest.patch(path, {})];
    if (list !== '/store/orders') others.push(await rest.put(path, response.body));
    for (const other of others) t.is(etagOf(other), etagOf(response), response.text);
  }
});

test('ETag - changes with the representation, and returns when the change is undone', async (t) => {
  const { rest } = t.context;
  const categoryId = await rest.category();
  const path = `/pets/${await rest.pet({ categoryId, status: 'sold' })}`;
  const before = await tagAt(rest, path);
  const changes = [{ name: 'Tim' }, { status: 'pending' }, { categoryId: await rest.category() }];
  const tags = [before];
  for (const change of changes) tags.push(etagOf(await rest.patch(path, change)));
  t.is(new Set(tags).size, tags.length);
  t.is((await readIf(rest, path, before)).status, 200);
  t.is(etagOf(await rest.put(path, { name: ' Tom ', categoryId, status: 'sold' })), before);
  t.is((await readIf(rest, path, before)).status, 304);

  const category = `/categories/${categoryId}`;
  const bare = await tagAt(rest, category);
  t.not(etagOf(await rest.patch(category, { description: '' })), bare); // an empty text is shown, an absent one is not
  t.is(etagOf(await rest.put(category, { name: 'Cats' })), bare);
});

test('ETag - an order changes the tag of the inventory entry, and that of the pet only with its status', async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 2 });
  const tags = () => Promise.all([tagAt(rest, `/pets/${petId}`), tagAt(rest, `/store/inventory/${petId}`)]);
  const [pet, entry] = await tags();
  const first = await rest.order({ petId });
  const [petWithOne, entryWithOne] = await tags();
  t.deepEqual([petWithOne === pet, entryWithOne === entry], [true, false]);
  const second = await rest.order({ petId }); // the last unit: the pet is pending now
  const [petWithout, entryWithout] = await tags();
  t.deepEqual([petWithout === pet, entryWithout === entryWithOne], [false, false]);
  for (const { id } of [first, second]) await rest.delete(`/store/orders/${id}`);
  t.deepEqual(await tags(), [pet, entry]);
});

/** A read of one resource of each kind. */
const reads = (rest: RestClient) => requestsTo(rest, ({ condition }) => condition === 'if-none-match');
/** Headers about a body, and those that differ from one request to the next. */
const VARYING = /^(connection|content-\w+|date|x-request-id|x-ratelimit-(remaining|reset))$/;
const lasting = ({ headers }: RestResponse) => [...headers].filter(([name]) => !VARYING.test(name));

test('If-None-Match - a 304 has the other headers of the 200: rate limits, deprecation, ETag', async (t) => {
  const { rest, publicAddress, key } = t.context;
  for (const { path } of await reads(rest)) {
    const full = await rest.get(path);
    for (const method of ['GET', 'HEAD']) {
      const response = await readIf(rest, path, etagOf(full), method);
      t.like(response, { status: 304, text: '' }, `${method} ${path}`);
      t.deepEqual(lasting(response), lasting(full));
      t.true(response.headers.has('x-ratelimit-remaining') && !response.headers.has('content-length'));
    }
    const headers = { authorization: `Bearer ${key}`, 'if-none-match': etagOf(full) };
    t.like(await http2(publicAddress, { method: 'GET', path, headers }), { status: 304, text: '' });
  }
});

test('If-None-Match - accepts a list, several lines, weak tags, and * for what exists', async (t) => {
  const { rest, publicAddress, key } = t.context;
  const path = `/categories/${await rest.category()}`;
  const tag = await tagAt(rest, path);
  for (const list of [`W/${tag}`, `"x","y", ${tag} ,`, '*']) t.is((await readIf(rest, path, list)).status, 304, list);
  for (const list of ['"x"', `"${tag.slice(1, -2)}"`]) t.is((await readIf(rest, path, list)).status, 200, list);
  const lines = ['"x"', tag].map((one) => `If-None-Match: ${one}\r\n`).join('');
  const head = `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;
  t.is((await http1(publicAddress, `${head}${lines}\r\n`)).status, 304);
  isError(t, await readIf(rest, '/pets/999999', '*'), 404, 'PET_NOT_FOUND');
  isError(t, await readIf(rest.withKey(undefined), path, '*'), 401, 'API_KEY_MISSING');
});

type Write = Pick<TestRequest, 'method' | 'path'> & { readonly json?: object | undefined };

/** Every operation that supports If-Match, each on its own resource. */
const writes = (rest: RestClient) => requestsTo(rest, ({ condition }) => condition === 'if-match');

function send(rest: RestClient, { method, path, json }: Write, ifMatch: string): Promise<RestResponse> {
  return rest.send(method, path, { json, headers: { 'if-match': ifMatch } });
}

test('Conditions - a malformed or empty one is a 400 INVALID_ARGUMENT that names it', async (t) => {
  const { rest, publicAddress, key } = t.context;
  for (const list of ['', ',', 'x', '*, "x"', 'w/"x"', '\u00e9']) {
    for (const { path } of await reads(rest)) isInvalid(t, await readIf(rest, path, list), 'if-none-match');
    for (const write of await writes(rest)) {
      isInvalid(t, await send(rest, write, list), 'if-match');
      t.is((await rest.get(write.path)).status, 200, list);
    }
  }
  const head = `GET /pets/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nIf-None-Match:\r\n\r\n`;
  isInvalid(t, await http1(publicAddress, head), 'if-none-match');
});

test('Conditions - are ignored by every operation that has no such condition, whatever their value', async (t) => {
  const { rest } = t.context;
  for (const [header, values] of [
    ['if-none-match', ['*', 'nonsense']],
    ['if-match', ['"x"', 'nonsense']],
  ] as const) {
    for (const value of values) {
      for (const { operation, method, path, json } of await requestsTo(rest, ({ condition }) => condition !== header)) {
        const { status } = await rest.send(method, path, { json, headers: { [header]: value } });
        t.is(status, operation.response.status, `${method} ${path} ${header}: ${value}`);
      }
    }
  }
});

/** Asserts that a write is refused with a 412, and that nothing has changed. */
async function isPreconditionFailed(t: Test, write: Write, ifMatch: string): Promise<void> {
  const { rest } = t.context;
  const { body, headers } = await rest.get(write.path);
  const etag = `what is stored has the ETag ${headers.get('etag')} now`;
  const message = `${etag}, which If-Match does not name: read it again before you change it`;
  isError(t, await send(rest, write, ifMatch), 412, 'PRECONDITION_FAILED', message);
  t.deepEqual((await rest.get(write.path)).body, body);
}

test('If-Match - without the current tag is a 412 PRECONDITION_FAILED, and nothing changes', async (t) => {
  const { rest } = t.context;
  for (const write of await writes(rest)) {
    const tag = await tagAt(rest, write.path);
    for (const list of ['"x"', `W/${tag}`]) await isPreconditionFailed(t, write, list);
    const response = await send(rest, write, `"x", ${tag}`);
    t.is(response.status, write.method === 'DELETE' ? 204 : 200, `${write.method} ${write.path}`);
    t.is((await rest.get(write.path)).status, write.method === 'DELETE' ? 404 : 200);
  }
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

test('If-Match - * matches any existing resource', async (t) => {
  const { rest } = t.context;
  for (const write of await writes(rest)) {
    t.true((await send(rest, write, '*')).status < 300, write.path);
    const nowhere = { ...write, path: write.path.replace(/\d+$/, '999999') };
    const { status, body } = await rest.send(nowhere.method, nowhere.path, { json: nowhere.json });
    t.is(status, 404);
    for (const list of ['*', '"x"']) isError(t, await send(rest, nowhere, list), 404, body.code, body.message);
  }
});

test('If-Match - a 412 comes after a 401, and a 400 for an invalid request', async (t) => {
  const { rest } = t.context;
  const pet = `/pets/${await rest.pet()}`;
  isInvalid(t, await send(rest, { method: 'PUT', path: pet, json: { name: '' } }, '"x"'), 'name', 'categoryId');
  isInvalid(t, await send(rest, { method: 'PATCH', path: `${pet}?colour=red`, json: {} }, '"x"'), 'colour');
  const anonymous = rest.withKey(undefined);
  isError(t, await send(anonymous, { method: 'DELETE', path: pet }, '"x"'), 401, 'API_KEY_MISSING');
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
