/** What holds for every operation, by the table of test/support/contract/resources.ts. */
import { ScalarType } from '@bufbuild/protobuf';
import type { ExecutionContext } from 'ava';
import { type RestResponse, walk } from '../support/calls/rest-client.ts';
import { isError, isInvalid } from '../support/contract/errors.ts';
import { EVENTS, fill, LISTS, MAKERS, PUBLIC, requestsTo, requestTo, sibling } from '../support/contract/resources.ts';
import { stackTest } from '../support/service/shared-stack.ts';
import type { TestStack } from '../support/service/stack.ts';

const test = stackTest();

test('Every POST - returns 201 with its Location, ignores an id in the body, and never reuses ids', async (t) => {
  const { rest } = t.context;
  for (const maker of MAKERS) {
    const { path, json, ids } = await requestTo(rest, maker);
    const { status, headers, body } = await rest.post(path, { ...json, id: 777_777 });
    const location = fill(maker.location, { ...ids, ...body });
    t.deepEqual([status, headers.get('location')], [201, location]);
    t.notDeepEqual(body.id, 777_777);
    t.deepEqual((await rest.get(location)).body, body);
    const remove = sibling({ resource: maker.location }, 'DELETE');
    if (remove !== undefined) t.is((await rest.delete(location)).status, 204);
    const next = await requestTo(rest, maker, ids);
    const again = await rest.post(`${path}/`, next.json);
    t.true(typeof body.id === 'number' ? again.body.id > body.id : again.body.id !== body.id, 'an id that is new');
    t.is(again.headers.get('location'), fill(maker.location, { ...ids, ...again.body }));
  }
});

test('Every PATCH - changes only the fields in the body; null leaves one alone', async (t) => {
  const { rest } = t.context;
  for (const { path, json } of await requestsTo(rest, ({ method }) => method === 'PATCH')) {
    const { body } = await rest.get(path);
    const nulls = Object.fromEntries(Object.keys(body).map((name) => [name, null]));
    for (const nothing of [{}, undefined, nulls]) t.deepEqual((await rest.patch(path, nothing)).body, body);
    t.deepEqual((await rest.patch(path, json)).body, { ...body, ...json });
    t.deepEqual((await rest.get(path)).body, { ...body, ...json });
    t.notDeepEqual({ ...body, ...json }, body, 'the part of RESOURCES changes something');
  }
});

test('Every DELETE - returns 204 without a body or its type, and repeated it is a 404', async (t) => {
  const { rest } = t.context;
  for (const { operation, path } of await requestsTo(rest, ({ method }) => method === 'DELETE')) {
    const { status, text, headers } = await rest.delete(path);
    t.deepEqual([status, text, headers.has('content-type')], [204, '', false]);
    isError(t, await rest.delete(path), 404, operation.notFound ?? '');
  }
});

type Event = Readonly<Record<string, unknown>> & { readonly type: string };

test('Events - each change of a resource by an operation has one, with what its GET says', async (t) => {
  const { rest } = t.context;
  t.true(EVENTS !== undefined && LISTS.length > 0);
  for (const maker of MAKERS) {
    const fields = EVENTS?.response.list?.message?.fields.filter(({ oneof }) => oneof !== undefined) ?? [];
    const field = fields.find(({ message }) => message?.typeName === maker.output.typeName)?.jsonName;
    if (field === undefined) continue; // a shop may leave a resource out of its feed
    const request = await requestTo(rest, maker);
    const before = (await walk<Event>(rest, `${EVENTS?.template}?limit=100`)).flat().at(-1)?.id ?? 0;
    const made = await rest.created(request.path, request.json);
    const location = fill(maker.location, { ...request.ids, ...made });
    const expected = [[`${field}.created`, (await rest.get(location)).body]];
    const patch = sibling({ resource: maker.location }, 'PATCH');
    if (patch !== undefined) {
      const { json } = await requestTo(rest, patch);
      expected.push([`${field}.updated`, (await rest.patch(location, json)).body]);
    }
    if (sibling({ resource: maker.location }, 'DELETE') !== undefined) {
      expected.push([`${field}.deleted`, (await rest.get(location)).body]);
      await rest.delete(location);
    }
    const events = (await walk<Event>(rest, `${EVENTS?.template}?after=${before}&limit=100`)).flat();
    const own = events.filter((event) => (event[field] as { id?: unknown } | undefined)?.id === made.id);
    const types = own.map(({ type, [field]: resource }) => [type, resource]);
    t.deepEqual(types, expected);
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

const NO_INT64 = [
  ...['abc', '1.5', '1e3', '0x1', '+1', '01', '-01', '1_0', ' ', '1 ', '1/2', '1,2'],
  ...['9223372036854775808', '-9223372036854775809'],
];
const IDS = {
  int64: [['0', '-0', '-1', '9007199254740993', '9223372036854775807', '-9223372036854775808'], NO_INT64],
  text: [['0', 'nobody', '%', ' ', 'a/b', '猫', "'", 'x'.repeat(300)], []],
} as const;

for (const { method, template, name, input, notFound = '' } of PUBLIC.filter(({ idName }) => idName !== undefined)) {
  const params = Array.from(template.matchAll(/\{(\w+)\}/g), ([, param = '']) => param);
  for (const param of params) {
    const isText = input.fields.find(({ jsonName }) => jsonName === param)?.scalar === ScalarType.STRING;
    const [unknown, wrong] = IDS[isText ? 'text' : 'int64'];
    const check = async (t: ExecutionContext<TestStack>) => {
      const { rest } = t.context;
      const [{ ids, json } = { ids: {}, json: {} }] = await requestsTo(rest, (one) => one.name === name);
      const send = (id: string) => rest.send(method, fill(template, { ...ids, [param]: id }), { json });
      for (const id of unknown) {
        const { body, ...response } = await send(id);
        isError(t, { ...response, body }, 404, notFound);
        // To the last digit.
        if (!isText && param === params.at(-1)) t.regex(body.message, new RegExp(` ${BigInt(id)}\\b`));
      }
      for (const id of wrong) isInvalid(t, await send(id), param);
    };
    const where = params.length === 1 ? template : `${template}, ${param}`;
    if (isText) test(`${method} ${where} - a text that names nothing is 404 ${notFound}`, check);
    else test(`${method} ${where} - an unknown int64 is 404 ${notFound}, any other text a 400`, check);
  }
}

test('query - an unknown parameter is a 400 on every operation', async (t) => {
  const { rest } = t.context;
  for (const { operation, method, path, json, ids } of await requestsTo(rest)) {
    const fields = operation.input.fields.map(({ name }) => name);
    const names = ['colour', 'limit', 'Limit', 'ids[]', '', ...fields, `${operation.bodyField}.name`];
    for (const name of names.filter((one) => !operation.queryParameters.has(one))) {
      isInvalid(t, await rest.send(method, `${path}?${encodeURIComponent(name)}=7`, { json }), name);
    }
    const read = sibling(operation, 'GET');
    if (read !== undefined) t.is((await rest.get(fill(read.template, ids))).status, 200, path); // nothing was deleted
  }
});

/** Headers that differ from one request to the next. `fetch` asks to close the connection after a HEAD. */
const VARYING = /^(connection|date|ratelimit|transfer-encoding|x-request-id|x-ratelimit-(remaining|reset))$/;

test.serial('HEAD - has the status and headers of GET on every route, and no body', async (t) => {
  const { rest } = t.context;
  await requestsTo(rest); // makes two of each, or more, so that lists have a next page
  const reads = await requestsTo(rest, ({ method }) => method === 'GET');
  const constant = (headers: Headers) => Object.fromEntries([...headers].filter(([name]) => !VARYING.test(name)));
  for (const path of reads.flatMap(({ path, ids, operation: { template, idName = '' } }) => [
    ...[path, `${path}/`, `${path}?colour=red`],
    ...(template.endsWith('}') ? ['999999', 'abc'].map((id) => fill(template, { ...ids, [idName]: id })) : []),
    ...(LISTS.some((list) => list.template === template) ? ['1', '0', 'x'].map((at) => `${path}?limit=${at}`) : []),
  ])) {
    const [get, head] = [await rest.get(path), await rest.send('HEAD', path)];
    t.deepEqual([head.status, head.text], [get.status, ''], path);
    const { 'content-length': length, ...others } = constant(get.headers);
    t.is(Number(length), Buffer.byteLength(get.text), path);
    // Envoy refuses these: without the length of the body.
    const expected = /abc|=x/.test(path) && get.status === 400 ? others : constant(get.headers);
    t.deepEqual(constant(head.headers), expected, path);
  }
  t.is((await rest.send('HEAD', '/nope')).status, 404);
});
