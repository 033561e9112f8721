import test from 'ava';
import { CreatePetRequest, GetPetRequest } from '../../../gen/petstore/v1/pets.ts';
import { restProtocol } from '../../../src/edge/rest-protocol.ts';
import { ApiError } from '../../../src/errors.ts';
import { toAccountId, toKeyId } from '../../../src/rpc/caller.ts';
import { chain } from '../../../src/rpc/chain.ts';
import { deprecation as createDeprecation } from '../../../src/rpc/interceptors/deprecation.ts';
import { idempotency } from '../../../src/rpc/interceptors/idempotency.ts';
import type { IdempotencyRecord } from '../../../src/storage/model.ts';
import { handler, newCall, operations, passThrough, RESPONSE, type TestCall } from '../../support/call.ts';

const deprecation = createDeprecation(operations);

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
  const bytes = CreatePetRequest.encode(
    CreatePetRequest.fromPartial({ pet: { name: 'Tom', categoryId: 1n, status: undefined } }),
  ).finish();
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

/** A call of an operation as it would be if it were deprecated. No deprecated one is a list, or creates anything. */
function deprecatedCall(path: string, metadata: Readonly<Record<string, string>>, bytes = new Uint8Array()) {
  const call = newCall(path, { metadata, bytes });
  const dates = { since: new Date(0), sunset: new Date(1_000) };
  const operation = { ...call.operation, deprecation: { ...dates, successor: '/new' } };
  return { call: Object.assign(call, { operation }), announce: createDeprecation([operation]) };
}

test('Deprecation - its link and the link to the next page of a list both stay', async (t) => {
  const { call, announce } = deprecatedCall('PetService/ListPets', { 'x-envoy-original-path': '/pets' });
  const response = { ...RESPONSE, message: { pets: [], nextPageToken: 'abc' } };
  await announce.intercept(call, handler(response).next);
  restProtocol([call.operation]).respond(call, response);
  t.is(call.responseHeaders.get('link'), '</new>; rel="successor-version", </pets?pageToken=abc>; rel="next"');
});

test('Deprecation - is announced with a replay too', async (t) => {
  const bytes = CreatePetRequest.encode(
    CreatePetRequest.fromPartial({ pet: { name: 'Tom', categoryId: 1n, status: undefined } }),
  ).finish();
  const records = new Map<string, IdempotencyRecord>();
  const send = async (handle: (call: TestCall) => void) => {
    const { call, announce } = deprecatedCall('PetService/CreatePet', { 'idempotency-key': 'one' }, bytes);
    const quota = { perMinute: 1, perDay: 1 };
    call.caller = { keyId: toKeyId(1n), accountId: toAccountId(1n), plan: 'free', quota };
    const others = ['limits', 'readMessage'].map(passThrough);
    const replay = idempotency({ find: async (id) => records.get(id) });
    await chain([...others, announce, replay], async () => {
      handle(call);
      return RESPONSE;
    })(call);
    return Object.fromEntries(call.responseHeaders);
  };
  const first = await send(({ remember }) => {
    const record = remember?.({ id: 1 });
    if (record !== undefined) records.set(record.id, record);
  });
  const replayed = await send(() => t.fail('it runs once'));
  t.like(first, { deprecation: '@0', link: '</new>; rel="successor-version"' });
  t.deepEqual(replayed, { ...first, 'idempotency-replayed': 'true' });
});
