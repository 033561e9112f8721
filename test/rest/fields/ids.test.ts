import anyTest, { type TestFn } from 'ava';
import { isError, isInvalid } from '../../support/contract.ts';
import { PUBLIC, requestsTo } from '../../support/resources.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

const UNKNOWN = ['0', '-1', '2147483648', '9007199254740993', '9223372036854775807', '-9223372036854775808'];
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

test('ids in the query - an unknown int64 finds nothing, any other text is a 400', async (t) => {
  const { rest } = t.context;
  await rest.pet();
  await rest.order();
  for (const [path, name] of [
    ['/pets', 'categoryId'],
    ['/pets', 'ids'],
    ['/store/orders', 'petId'],
  ] as const) {
    for (const id of UNKNOWN) t.deepEqual((await rest.get(`${path}?${name}=${id}`)).body, [], `${name}=${id}`);
    for (const id of [...NOT_INT64, '']) isInvalid(t, await rest.get(`${path}?${name}=${id}`), name);
  }
});

test('ids in the body - an unknown int64 is UNKNOWN_CATEGORY or UNKNOWN_PET, any other number a 400', async (t) => {
  const { rest } = t.context;
  const headers = { 'content-type': 'application/json' };
  for (const id of UNKNOWN) {
    for (const written of [id, `"${id}"`]) {
      const pet = await rest.send('POST', '/pets', { raw: `{"name":"Tom","categoryId":${written}}`, headers });
      isError(t, pet, 400, 'UNKNOWN_CATEGORY', `categoryId: category ${id} does not exist`);
      const order = await rest.send('POST', '/store/orders', { raw: `{"petId":${written}}`, headers });
      isError(t, order, 400, 'UNKNOWN_PET', `petId: pet ${id} does not exist`);
    }
  }
  for (const id of [
    '1.5',
    '9223372036854775808',
    '"9223372036854775808"',
    '"-9223372036854775809"',
    '1e30',
    '""',
    '" 1"',
  ]) {
    const pet = await rest.send('POST', '/pets', { raw: `{"name":"Tom","categoryId":${id}}`, headers });
    isInvalid(t, pet, 'categoryId');
    isInvalid(t, await rest.send('POST', '/store/orders', { raw: `{"petId":${id}}`, headers }), 'petId');
  }
});
