import { ScalarType } from '@bufbuild/protobuf';
import anyTest, { type TestFn } from 'ava';
import { isError, isInvalid } from '../../support/contract.ts';
import { PUBLIC, requestsTo } from '../../support/resources.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

/** The parameters of each list; other operations have none. */
const READS = PUBLIC.filter(({ queryParameters, isStream }) => queryParameters.size > 0 && !isStream);
const KNOWN = READS.map(({ template, queryParameters }) => [template, [...queryParameters.keys()]] as const);
const ALL = new Map(READS.flatMap(({ queryParameters }) => [...queryParameters]));

/** A value of the parameter. */
function sampleOf(name: string): string {
  const field = ALL.get(name);
  if (name === 'types') return 'pet.created';
  return field?.enum?.values[1]?.name ?? (field?.scalar === ScalarType.BOOL ? 'true' : '7');
}

for (const [path, known] of KNOWN) {
  test(`GET ${path} - accepts ${known.join(', ')} and nothing else`, async (t) => {
    const { rest } = t.context;
    for (const name of [...ALL.keys()].filter((one) => one !== 'pageToken')) {
      const response = await rest.get(`${path}?${name}=${sampleOf(name)}`);
      if (known.some((one) => one === name)) t.is(response.status, 200, response.text);
      else isInvalid(t, response, name);
    }
    for (const name of [
      'page_token',
      'category_id',
      'pet_id',
      'Limit',
      'LIMIT',
      'offset',
      'page',
      'ids[]',
      'x.y',
      '',
    ]) {
      const response = await rest.get(`${path}?${encodeURIComponent(name)}=7`);
      isError(t, response, 400, 'INVALID_ARGUMENT', `${name}: is not a query parameter here`);
    }
  });

  test(`GET ${path} - a parameter without a value is a 400, never ignored`, async (t) => {
    const { rest } = t.context;
    for (const name of known) {
      for (const query of [name, `${name}&limit=7`, `${name}&${name}=${sampleOf(name)}`]) {
        const { status, body } = await rest.get(`${path}?${query}`);
        t.deepEqual([status, body.code], [400, 'INVALID_ARGUMENT'], query);
      }
    }
  });

  test(`GET ${path} - a parameter that is not a list may not be repeated`, async (t) => {
    const { rest } = t.context;
    for (const name of known) {
      const value = sampleOf(name);
      if (ALL.get(name)?.fieldKind === 'list') continue;
      const response = await rest.get(`${path}?${name}=${value}&${name}=${value}`);
      isError(t, response, 400, 'INVALID_ARGUMENT', `${name}: is given more than once`);
    }
  });
}

test('query - an unknown parameter is a 400 on every operation', async (t) => {
  const { rest } = t.context;
  const requests = await requestsTo(rest, ({ queryParameters }) => queryParameters.size === 0);
  for (const { method, path, json } of requests) {
    for (const name of [
      'colour',
      'limit',
      'name',
      'petId',
      'pet_id',
      'pet.name',
      'category.name',
      'quantity',
      'order.quantity',
    ]) {
      isInvalid(t, await rest.send(method, `${path}?${name}=7`, { json }), name);
    }
  }
  for (const { path, operation } of requests) {
    if (operation.condition !== undefined) t.is((await rest.get(path)).status, 200, path); // nothing was deleted
  }
});

test('query - every unknown and every repeated parameter is named', async (t) => {
  const { rest } = t.context;
  isInvalid(t, await rest.get('/pets?colour=red&limit=5&legs=4&page_token=x'), 'colour', 'legs', 'page_token');
  isInvalid(t, await rest.get('/pets?limit=5&colour=red&limit=6&status=sold&status=sold'), 'limit', 'colour', 'status');
  isInvalid(t, await rest.get('/pets?colour=red&colour=blue'), 'colour');
  isInvalid(t, await rest.get('/pets/1?a=1&b=2'), 'a', 'b');
});

test('query - names and values may be percent-encoded, and a value empty', async (t) => {
  const { rest } = t.context;
  t.is((await rest.get('/pets?%6Cimit=%31')).status, 200);
  t.is((await rest.get('/pets?limit=1&')).status, 200);
  t.is((await rest.get('/pets?')).status, 200);
  isInvalid(t, await rest.get('/pets?%63olour=red'), 'colour');
  isInvalid(t, await rest.get('/pets?colour'), 'colour');
  isInvalid(t, await rest.get('/pets?limit='), 'limit');
});

test('query - a 400 names only some of many or long parameters', async (t) => {
  const { rest } = t.context;
  const many = Array.from({ length: 2_000 }, (_, i) => `x${i}=`).join('&');
  isError(t, await rest.get(`/pets?${many}`), 400, 'INVALID_ARGUMENT', /^x0: /);
  const long = Array.from({ length: 20 }, (_, i) => `${'%E4%BA%BA'.repeat(190)}${i}=`).join('&');
  isError(t, await rest.get(`/pets?${long}`), 400, 'INVALID_ARGUMENT', /^人/);
  isError(t, await rest.get(`/pets?${'x'.repeat(40_000)}=`), 400, 'INVALID_ARGUMENT', /^x/);
});
