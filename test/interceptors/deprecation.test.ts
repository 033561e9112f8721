import test from 'ava';
import { CreatePetRequest, GetPetRequest } from '../../gen/petstore/v1/pets.ts';
import { ApiError } from '../../src/errors.ts';
import { deprecation } from '../../src/interceptors/deprecation.ts';
import { handler, newCall, RESPONSE } from '../support/call.ts';

async function headersFor(petId: bigint): Promise<Record<string, string>> {
  const call = newCall('PetService/GetPet', { bytes: GetPetRequest.encode({ petId }).finish() });
  await deprecation.intercept(call, handler().next);
  return Object.fromEntries(call.responseHeaders);
}

test('Deprecation - a deprecated operation says since when, until when, and what to use instead', async (t) => {
  t.deepEqual(await headersFor(7n), {
    deprecation: `@${Date.UTC(2026, 6, 1) / 1000}`,
    sunset: 'Fri, 31 Dec 2027 23:59:59 GMT',
    link: '</pets?ids=7>; rel="successor-version"',
  });
});

test('Deprecation - the link to the successor has the id of the request', async (t) => {
  t.is((await headersFor(-1n)).link, '</pets?ids=-1>; rel="successor-version"');
  t.is((await headersFor(0n)).link, '</pets?ids=0>; rel="successor-version"');
  t.is((await headersFor(2n ** 63n - 1n)).link, '</pets?ids=9223372036854775807>; rel="successor-version"');
});

test('Deprecation - is announced with an error too', async (t) => {
  const call = newCall('PetService/GetPet', { bytes: GetPetRequest.encode({ petId: 7n }).finish() });
  await t.throwsAsync(deprecation.intercept(call, () => Promise.reject(new Error('not found'))));
  t.true(call.responseHeaders.has('deprecation'));
});

test('Deprecation - other operations have no such headers', async (t) => {
  const bytes = CreatePetRequest.encode({ pet: { name: 'Tom', categoryId: 1n, status: undefined } }).finish();
  const { next, calls } = handler();
  const call = newCall('PetService/CreatePet', { bytes });
  t.is(await deprecation.intercept(call, next), RESPONSE);
  t.is(calls.length, 1);
  t.is(call.responseHeaders.size, 0);
});

test('Deprecation - a malformed message is MALFORMED_BODY', async (t) => {
  const call = newCall('PetService/GetPet', { bytes: Buffer.from([0xff]) });
  const error = await t.throwsAsync(async () => deprecation.intercept(call, handler().next), { instanceOf: ApiError });
  t.is((error as ApiError).code, 'MALFORMED_BODY');
});
