import { createClient, etagOf, type Pet, PetstoreError } from '../../gen/client/index.ts';
import { REQUESTS } from '../../gen/client/methods.ts';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { InventoryServiceService as Inventory } from '../../gen/petstore/v1/inventory.ts';
import { OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { NewPet as NewPetMessage, PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { sharing } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';

const test = sharing(undefined, async (t) => {
  const stack = await startTestStack(t);
  const client = createClient({ address: stack.grpcAddress, apiKey: stack.key });
  t.teardown(() => client.close());
  return { ...stack, client };
});

async function errorOf(call: Promise<unknown>): Promise<PetstoreError> {
  const error = await call.catch((reason: unknown) => reason);
  if (error instanceof PetstoreError) return error;
  throw new Error(`not a PetstoreError: ${String(error)}`);
}

test('client - optional request fields may be omitted; types check the others', async (t) => {
  const { client } = t.context;
  t.true(Array.isArray((await client.pets.listPets({})).pets));
  // @ts-expect-error petId is missing
  const missing = () => client.pets.getPet({});
  // @ts-expect-error an id is a bigint
  const mistyped = () => client.pets.getPet({ petId: 7 });
  // @ts-expect-error there is no such field
  const unknown = () => client.pets.listPets({ colour: 'red' });
  // @ts-expect-error only a create takes a key
  const keyed = () => client.pets.getPet({ petId: 7n }, { idempotencyKey: 'mine' });
  // @ts-expect-error only a write takes a condition
  const conditional = () => client.pets.getPet({ petId: 7n }, { ifMatch: '"abc"' });
  t.true([missing, mistyped, unknown, keyed, conditional].every((call) => typeof call === 'function'));
  const typed: (request: { petId: bigint }) => Promise<Pet> = client.pets.getPet;
  t.is(typeof typed, 'function');
});

test('client - what is absent from a request has its default', (t) => {
  const methods = [Categories, Pets, Orders, Inventory].flatMap((service) => Object.values(service));
  for (const { path, requestDeserialize } of methods) {
    t.deepEqual(REQUESTS[path]?.fromPartial({} as never), requestDeserialize(Buffer.of()), path);
  }
  const given = { name: 'Tom', categoryId: 1n };
  const pet = { ...NewPetMessage.decode(Buffer.of()), ...given };
  t.deepEqual(REQUESTS[Pets.createPet.path]?.fromPartial({ pet: given } as never), { pet });
});

test('client - a value that its field can not have throws TypeError, a Date for a timestamp too', async (t) => {
  const { orders } = t.context.client;
  for (const shipDate of [new Date(), '2027-01-01T12:00:00Z', 1_798_804_800, [], new Map()]) {
    const placed = orders.placeOrder({ order: { shipDate } as never });
    await t.throwsAsync(placed, { instanceOf: TypeError, message: /order\.shipDate is no message with seconds,nanos/ });
  }
  await t.throwsAsync(orders.getOrder({ orderId: 7.5 as never }), { instanceOf: TypeError, message: /GetOrder: / });
  const { shipDate } = await orders.placeOrder({ order: { shipDate: { seconds: 1_798_804_800n, nanos: 0 } } });
  t.is(shipDate?.seconds, 1_798_804_800n);
});

test('client - the second of two conflicting writes gets PRECONDITION_FAILED', async (t) => {
  const { categories } = t.context.client;
  const { id: categoryId } = await categories.createCategory({ category: { name: 'Cats' } });
  const read = await categories.getCategory({ categoryId });
  const ifMatch = etagOf(read);
  const changed = await categories.updateCategory({ categoryId, category: { name: 'Big cats' } }, { ifMatch });
  const late = categories.replaceCategory({ categoryId, category: { name: 'Small cats' } }, { ifMatch });
  t.like(await errorOf(late), { code: 'PRECONDITION_FAILED', grpcStatus: 10 });
  t.is((await categories.getCategory({ categoryId })).name, 'Big cats');
  t.deepEqual(Object.keys(changed).sort(), ['description', 'id', 'name'], 'the tag is not a field of the message');
  t.throws(() => etagOf({ ...changed }), { instanceOf: TypeError });
  t.deepEqual(await categories.deleteCategory({ categoryId }, { ifMatch: etagOf(changed) }), {});
});

test('client - an error has the reason, the status, the message and every invalid field', async (t) => {
  const { client, grpcAddress: address, key: apiKey } = t.context;
  const stranger = createClient({ address, apiKey: 'nonsense' });
  const hasty = createClient({ address, apiKey, timeoutMs: 0 });
  const message = 'pet 999999 does not exist';
  const none = { violations: [], retryAfterMs: undefined };
  const violations = [
    { field: 'pet.name', description: 'must be 1 to 200 characters after trimming' },
    { field: 'pet.categoryId', description: 'value is required' },
  ];
  const tooLarge = { name: 'x'.repeat(2_000_000), categoryId: 1n };
  const late = { code: 'DEADLINE_EXCEEDED', grpcStatus: 4, ...none };
  for (const [call, expected] of [
    [client.pets.getPet({ petId: 999_999n }), { code: 'PET_NOT_FOUND', grpcStatus: 5, message, ...none }],
    [client.pets.createPet({ pet: { name: ' ' } }), { code: 'INVALID_ARGUMENT', grpcStatus: 3, violations }],
    [stranger.pets.listPets({}), { code: 'API_KEY_INVALID', grpcStatus: 16, ...none }],
    [client.pets.createPet({ pet: tooLarge }), { grpcStatus: 8, ...none }],
    [client.pets.listPets({}, { timeoutMs: 0 }), late],
    [client.pets.listPets({}, { deadline: new Date(0) }), late],
    [hasty.pets.listPets({}), late],
  ] as const)
    t.like(await errorOf(call), expected);
  t.true(Array.isArray((await hasty.pets.listPets({}, { timeoutMs: 5_000 })).pets));
  await Promise.all([stranger.close(), hasty.close()]);
});

test('client - a signal aborts a call with its reason before and during it, and does nothing after it', async (t) => {
  const { client } = t.context;
  const reason = new Error('changed my mind');
  t.is(await client.pets.listPets({}, { signal: AbortSignal.abort(reason) }).catch((error) => error), reason);
  const controller = new AbortController();
  const call = client.pets.listPets({}, { signal: controller.signal });
  controller.abort(reason);
  t.is(await call.catch((error) => error), reason);
  const late = new AbortController();
  await client.pets.listPets({}, { signal: late.signal });
  t.notThrows(() => late.abort());
});

test('client - invalid options are refused, and the error does not show the key', (t) => {
  const { key, grpcAddress: address } = t.context;
  const error = t.throws(() => createClient({ address, apiKey: `${key}\n` }), { instanceOf: TypeError });
  t.false(error?.message.includes(key));
  const empty = { instanceOf: TypeError, message: 'apiKey is empty: set it to your key' };
  t.throws(() => createClient({ address, apiKey: '' }), empty);
  const noAddress = { instanceOf: TypeError, message: 'address is empty: set it to that of the service' };
  t.throws(() => createClient({ address: '', apiKey: key }), noAddress);
  for (const wrong of [{ maxInFlight: 0 }, { maxInFlight: 1.5 }, { maxAttempts: 0 }, { maxAttempts: 6 }]) {
    t.throws(() => createClient({ address, apiKey: key, ...wrong }), { instanceOf: RangeError });
  }
});
