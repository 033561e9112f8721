/** What holds for every operation, by the table of test/support/contract/resources.ts. */
import type { RestResponse } from '../support/calls/rest-client.ts';
import { isError, isInvalid } from '../support/contract/errors.ts';
import { LISTS, PUBLIC, requestsTo } from '../support/contract/resources.ts';
import { stackTest } from '../support/service/shared-stack.ts';

const test = stackTest();

test('Every POST - returns 201 with its Location, ignores an id in the body, and never reuses ids', async (t) => {
  const { rest } = t.context;
  for (const { path, json } of await requestsTo(rest, ({ method }) => method === 'POST')) {
    const { status, headers, body } = await rest.post(path, { ...json, id: 777_777 });
    const location = `${path}/${body.id}`;
    t.deepEqual([status, headers.get('location')], [201, location]);
    t.not(body.id, 777_777);
    t.deepEqual((await rest.get(location)).body, body);
    await rest.delete(location);
    const again = await rest.post(`${path}/`, json);
    t.true(again.body.id > body.id);
    t.is(again.headers.get('location'), `${path}/${again.body.id}`);
  }
});

test('Every PATCH - changes only the fields in the body', async (t) => {
  const { rest } = t.context;
  for (const { path, json } of await requestsTo(rest, ({ method }) => method === 'PATCH')) {
    const { body } = await rest.get(path);
    for (const nothing of [{}, undefined]) t.deepEqual((await rest.patch(path, nothing)).body, body);
    t.deepEqual((await rest.patch(path, json)).body, { ...body, ...json });
    t.deepEqual((await rest.get(path)).body, { ...body, ...json });
    t.notDeepEqual({ ...body, ...json }, body, 'the part of RESOURCES changes something');
  }
});

test('Every DELETE - returns 204 without a body, and what it has deleted is a 404', async (t) => {
  const { rest } = t.context;
  for (const { operation, path } of await requestsTo(rest, ({ method }) => method === 'DELETE')) {
    const { status, text, headers } = await rest.delete(path);
    t.deepEqual([status, text, headers.has('content-type')], [204, '', false]);
    for (const method of ['GET', 'DELETE']) isError(t, await rest.send(method, path), 404, operation.notFound ?? '');
  }
});

function announced({ headers }: RestResponse): unknown[] {
  const link = headers.get('link');
  return [headers.get('deprecation'), headers.get('sunset'), link?.endsWith('rel="next"') ? null : link];
}

test('Deprecation - is announced by each operation that the proto file deprecates, and by no other', async (t) => {
  const { rest } = t.context;
  for (const { operation, method, path, json } of await requestsTo(rest)) {
    const { deprecation } = operation;
    const [since, sunset, link] = announced(await rest.send(method, path, { json }));
    t.deepEqual([since, sunset], [deprecation?.headers.deprecation ?? null, deprecation?.headers.sunset ?? null], path);
    t.is(link !== null, deprecation !== undefined);
    if (deprecation === undefined) continue;
    t.regex(String(link), /^<\/.*>; rel="successor-version"$/);
    t.deepEqual(announced(await rest.send('HEAD', `${path}/`)), [since, sunset, link]);
  }
  for (const path of ['/nope', '/']) t.deepEqual(announced(await rest.get(path)), [null, null, null]);
});

const UNKNOWN = ['0', '-1', '9007199254740993', '9223372036854775807', '-9223372036854775808'];
const NOT_INT64 = ['abc', '1.5', '1e3', '0x1', '%20', '1%2F2', '1,2', '9223372036854775808', '-9223372036854775809'];

for (const { method, template, idName, name, notFound = '' } of PUBLIC.filter(({ idName }) => idName !== undefined)) {
  test(`${method} ${template} - an unknown int64 is 404 ${notFound}, any other text a 400`, async (t) => {
    const { rest } = t.context;
    const [{ path, json } = { path: '', json: {} }] = await requestsTo(rest, (one) => one.name === name);
    const send = (id: string) => rest.send(method, path.replace(/\d+$/, id), { json });
    for (const id of UNKNOWN) isError(t, await send(id), 404, notFound, new RegExp(` ${id}\\b`)); // to the last digit
    for (const id of NOT_INT64) isInvalid(t, await send(id), String(idName));
  });
}

test('query - an unknown parameter is a 400 on every operation', async (t) => {
  const { rest } = t.context;
  for (const { operation, method, path, json } of await requestsTo(rest)) {
    const fields = operation.input.fields.map(({ name }) => name);
    const names = ['colour', 'limit', 'Limit', 'ids[]', '', ...fields, `${operation.bodyField}.name`];
    for (const name of names.filter((one) => !operation.queryParameters.has(one))) {
      isInvalid(t, await rest.send(method, `${path}?${encodeURIComponent(name)}=7`, { json }), name);
    }
    if (operation.idName !== undefined) t.is((await rest.get(path)).status, 200, path); // nothing was deleted
  }
});

/** Headers that differ from one request to the next. `fetch` asks to close the connection after a HEAD. */
const VARYING = /^(connection|date|ratelimit|transfer-encoding|x-request-id|x-ratelimit-(remaining|reset))$/;

test.serial('HEAD - has the status and headers of GET on every route, and no body', async (t) => {
  const { rest } = t.context;
  await requestsTo(rest); // makes two of each, or more, so that lists have a next page
  const reads = await requestsTo(rest, ({ method }) => method === 'GET');
  const constant = (headers: Headers) => Object.fromEntries([...headers].filter(([name]) => !VARYING.test(name)));
  for (const path of [
    ...reads.flatMap(({ path, operation: { idName } }) =>
      idName === undefined ? [] : [path, ...['999999', 'abc'].map((id) => path.replace(/\d+$/, id))],
    ),
    ...reads.flatMap(({ path, operation }) => (operation.idName ? [] : [path, `${path}/`, `${path}?colour=red`])),
    ...LISTS.flatMap(({ template }) => ['1', '0', 'x'].map((limit) => `${template}?limit=${limit}`)),
  ]) {
    const [get, head] = [await rest.get(path), await rest.send('HEAD', path)];
    t.deepEqual([head.status, head.text], [get.status, ''], path);
    const { 'content-length': length, ...others } = constant(get.headers);
    t.is(Number(length), Buffer.byteLength(get.text), path);
    // Envoy refuses these: without the length of the body.
    t.deepEqual(constant(head.headers), /abc|=x/.test(path) ? others : constant(get.headers), path);
  }
  t.is((await rest.send('HEAD', '/nope')).status, 404);
});
