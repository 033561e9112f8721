import test from 'ava';
import { CreatePetRequest, GetPetRequest } from '../../../gen/petstore/v1/pets.ts';
import { restProtocol } from '../../../src/edge/rest-protocol.ts';
import { toAccountId, toKeyId } from '../../../src/rpc/caller.ts';
import { chain } from '../../../src/rpc/chain.ts';
import { deprecation as createDeprecation } from '../../../src/rpc/interceptors/deprecation.ts';
import { idempotency } from '../../../src/rpc/interceptors/idempotency.ts';
import type { IdempotencyRecord } from '../../../src/storage/model.ts';
import { handler, newCall, operations, RESPONSE, type TestCall } from '../../support/call.ts';

const deprecation = createDeprecation(operations);

function announced(path: string, bytes: Uint8Array, next = handler().next): [TestCall, Promise<unknown>] {
  const call = newCall(path, { bytes });
  return [call, (async () => deprecation(call, next))()];
}

test('Deprecation - a deprecated operation says since when, until when, and what to use instead', async (t) => {
  for (const petId of [7n, -1n, 0n, 2n ** 63n - 1n]) {
    const failing = () => Promise.reject(new Error('not found'));
    const [call, intercepted] = announced('PetService/GetPet', GetPetRequest.encode({ petId }).finish(), failing);
    await t.throwsAsync(intercepted, { message: 'not found' }, 'an error has it too');
    t.deepEqual(Object.fromEntries(call.responseHeaders), {
      deprecation: `@${Date.UTC(2026, 6, 1) / 1000}`,
      sunset: 'Fri, 31 Dec 2027 23:59:59 GMT',
      link: `</pets?ids=${petId}>; rel="successor-version"`,
    });
  }
});

test('Deprecation - other operations have no such headers, a malformed message is MALFORMED_BODY', async (t) => {
  const [call, intercepted] = announced('PetService/ListPets', Buffer.of());
  t.is(await intercepted, RESPONSE);
  t.is(call.responseHeaders.size, 0);
  t.like(await t.throwsAsync(announced('PetService/GetPet', Buffer.of(0xff))[1]), { code: 'MALFORMED_BODY' });
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
  await announce(call, handler(response).next);
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
    const replay = idempotency({ find: async (id) => records.get(id) });
    await chain([announce, replay], async () => {
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
