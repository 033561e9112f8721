import { fromJson, toBinary } from '@bufbuild/protobuf';
import test from 'ava';
import {
  CreateCategoryRequest,
  ReplaceCategoryRequest,
  UpdateCategoryRequest,
} from '../../../gen/petstore/v1/categories.ts';
import { ListInventoryRequest, SetInventoryRequest } from '../../../gen/petstore/v1/inventory.ts';
import { ListOrdersRequest, PlaceOrderRequest, UpdateOrderRequest } from '../../../gen/petstore/v1/orders.ts';
import { CreatePetRequest, GetPetRequest, ListPetsRequest, UpdatePetRequest } from '../../../gen/petstore/v1/pets.ts';
import { ApiError } from '../../../src/errors.ts';
import { createValidation } from '../../../src/proto/validation-rules.ts';
import { readMessage } from '../../../src/rpc/interceptors/read-message.ts';
import { handler, newCall, protoRegistry, RESPONSE } from '../../support/call.ts';
import { parcelOperations, parcelRegistry } from '../../support/lists/parcels.ts';

const interceptor = readMessage(createValidation(protoRegistry));

interface Encoder<T> {
  fromPartial(message: object): T;
  encode(message: T): { finish(): Uint8Array };
}

/** The names of the fields with violations; none when the message passes. */
async function violations<T>(path: string, { fromPartial, encode }: Encoder<T>, message: object): Promise<string[]> {
  const error = await refusal(path, encode(fromPartial(message)).finish());
  return error === undefined ? [] : error.violations.map(({ name }) => name);
}

async function refusal(path: string, bytes: Uint8Array): Promise<ApiError | undefined> {
  const { next, calls } = handler();
  try {
    await interceptor.intercept(newCall(path, { bytes }), next);
  } catch (error) {
    if (error instanceof ApiError && calls.length === 0) return error;
    throw error;
  }
  return undefined;
}

const createPet = (pet: object) => violations('PetService/CreatePet', CreatePetRequest, { pet });
const updatePet = (pet: object) => violations('PetService/UpdatePet', UpdatePetRequest, { petId: 1n, pet });
const createCategory = (category: object) =>
  violations('CategoryService/CreateCategory', CreateCategoryRequest, { category });
const placeOrder = (order: object) => violations('OrderService/PlaceOrder', PlaceOrderRequest, { order });

/** One grapheme of four characters. */
const FLAG = '🏳️‍🌈';

test('Validation - a message without rules is not decoded', async (t) => {
  t.deepEqual(await violations('PetService/GetPet', GetPetRequest, { petId: 7n }), []);
  t.is(await refusal('PetService/GetPet', Buffer.from([0xff])), undefined);
});

test('Validation - a valid call passes with its bytes unchanged', async (t) => {
  const bytes = CreatePetRequest.encode(
    CreatePetRequest.fromPartial({ pet: { name: ' Tom ', categoryId: 1n, status: undefined } }),
  ).finish();
  const { next, calls } = handler();
  const call = newCall('PetService/CreatePet', { bytes });
  t.is(await interceptor.intercept(call, next), RESPONSE);
  t.deepEqual(calls, [call]);
});

test('Validation - a malformed message is MALFORMED_BODY', async (t) => {
  for (const bytes of [[0xff], [0x0a, 0x05, 0x01], [0x0a, 0x02, 0x0a, 0x09]]) {
    t.is((await refusal('PetService/CreatePet', Buffer.from(bytes)))?.code, 'MALFORMED_BODY');
  }
});

test('Validation - the violations of an absent body are its required fields', async (t) => {
  t.deepEqual(await violations('PetService/CreatePet', CreatePetRequest, {}), ['name', 'categoryId']);
  t.deepEqual(await violations('CategoryService/ReplaceCategory', ReplaceCategoryRequest, { categoryId: 1n }), [
    'name',
  ]);
  t.deepEqual(await violations('InventoryService/SetInventory', SetInventoryRequest, { petId: 1n }), ['quantity']);
});

test('Validation - an absent body whose fields are all optional passes', async (t) => {
  t.deepEqual(await violations('OrderService/PlaceOrder', PlaceOrderRequest, {}), []);
  t.deepEqual(await violations('PetService/UpdatePet', UpdatePetRequest, { petId: 1n }), []);
});

test('Validation - every field with a violation is named, with its path in the message', async (t) => {
  const bytes = CreatePetRequest.encode(CreatePetRequest.fromPartial({ pet: { name: ' ', status: 0 } })).finish();
  const error = await refusal('PetService/CreatePet', bytes);
  t.is(error?.code, 'INVALID_ARGUMENT');
  t.deepEqual(
    error?.violations.map(({ path, name }) => [path, name]),
    [
      ['pet.name', 'name'],
      ['pet.categoryId', 'categoryId'],
      ['pet.status', 'status'],
    ],
  );
  for (const { name, description } of error?.violations ?? []) {
    t.true(description.length > 0);
    t.true(error?.message.includes(`${name}: ${description}`));
  }
});

test('Validation - a name has 1 to 200 characters after trimming', async (t) => {
  for (const name of [
    'a',
    'x'.repeat(200),
    `  ${'x'.repeat(200)}  `,
    '🐈'.repeat(200),
    FLAG.repeat(50),
    'Grüße, 猫',
    '\ufeff',
  ]) {
    t.deepEqual(await createPet({ name, categoryId: 1n }), [], name);
    t.deepEqual(await createCategory({ name }), [], name);
    t.deepEqual(await updatePet({ name }), [], name);
  }
  for (const name of [
    '',
    ' ',
    '   ',
    '\u00a0',
    '\u2003\u3000',
    'x'.repeat(201),
    ' x'.repeat(101),
    '🐈'.repeat(201),
    `${FLAG.repeat(50)}!`,
  ]) {
    t.deepEqual(await createPet({ name, categoryId: 1n }), ['name'], JSON.stringify(name));
    t.deepEqual(await createCategory({ name }), ['name'], JSON.stringify(name));
    t.deepEqual(await updatePet({ name }), ['name'], JSON.stringify(name));
  }
});

test('Validation - a name has no control characters', async (t) => {
  for (const control of ['\0', '\t', '\n', '\r', '\x1b', '\x1f', '\x7f', '\x80', '\x9f']) {
    t.deepEqual(await createPet({ name: `a${control}b`, categoryId: 1n }), ['name'], JSON.stringify(control));
    t.deepEqual(await createCategory({ name: `a${control}b` }), ['name'], JSON.stringify(control));
    t.deepEqual(await updatePet({ name: `a${control}b` }), ['name'], JSON.stringify(control));
  }
});

test('Validation - no text has U+0000, which is named once', async (t) => {
  const description = 'two\0parts';
  t.deepEqual(await createCategory({ name: 'Cats', description }), ['description']);
  t.deepEqual(await createCategory({ name: '\0', description }), ['name', 'description']);
  const patch = { categoryId: 1n, category: { description } };
  t.deepEqual(await violations('CategoryService/UpdateCategory', UpdateCategoryRequest, patch), ['description']);
});

test('Validation - a description has 0 to 2,000 characters', async (t) => {
  for (const description of ['', 'x'.repeat(2_000), '🐈'.repeat(2_000), 'two\nlines']) {
    t.deepEqual(await createCategory({ name: 'Cats', description }), []);
  }
  const description = 'x'.repeat(2_001);
  t.deepEqual(await createCategory({ name: 'Cats', description }), ['description']);
  const patch = { categoryId: 1n, category: { description } };
  t.deepEqual(await violations('CategoryService/UpdateCategory', UpdateCategoryRequest, patch), ['description']);
});

test('Validation - a status is one of the three, neither zero nor a larger number', async (t) => {
  for (const status of [1, 2, 3]) t.deepEqual(await createPet({ name: 'Tom', categoryId: 1n, status }), []);
  for (const status of [0, 4, -1]) {
    t.deepEqual(await createPet({ name: 'Tom', categoryId: 1n, status }), ['status']);
    t.deepEqual(await updatePet({ status }), ['status']);
    t.deepEqual(await violations('PetService/ListPets', ListPetsRequest, { status }), ['status']);
    t.deepEqual(await violations('InventoryService/ListInventory', ListInventoryRequest, { status }), ['status']);
  }
});

test('Validation - a category id is required, and any int64 is one', async (t) => {
  t.deepEqual(await createPet({ name: 'Tom' }), ['categoryId']);
  for (const categoryId of [0n, -1n, 2n ** 63n - 1n, -(2n ** 63n)]) {
    t.deepEqual(await createPet({ name: 'Tom', categoryId }), []);
  }
});

test('Validation - an order has 1 to 1,000,000 units', async (t) => {
  for (const quantity of [1, 1_000_000, undefined]) t.deepEqual(await placeOrder({ quantity }), []);
  for (const quantity of [0, -1, 1_000_001, 2 ** 31 - 1, -(2 ** 31)]) {
    t.deepEqual(await placeOrder({ quantity }), ['quantity']);
    const patch = { orderId: 1n, order: { quantity } };
    t.deepEqual(await violations('OrderService/UpdateOrder', UpdateOrderRequest, patch), ['quantity']);
  }
});

test('Validation - a ship date is any instant that RFC 3339 can write', async (t) => {
  const [first, last] = [-62_135_596_800n, 253_402_300_799n]; // the years 1 and 9999
  for (const seconds of [first, 0n, last]) t.deepEqual(await placeOrder({ shipDate: { seconds, nanos: 0 } }), []);
  t.deepEqual(await placeOrder({ shipDate: { seconds: last, nanos: 999_999_999 } }), []);
  for (const seconds of [first - 1n, last + 1n, 2n ** 63n - 1n]) {
    t.deepEqual(await placeOrder({ shipDate: { seconds, nanos: 0 } }), ['shipDate']);
  }
});

test('Validation - a stock count is required, 0 to 1,000,000,000', async (t) => {
  const set = (inventory: object) =>
    violations('InventoryService/SetInventory', SetInventoryRequest, { petId: 1n, inventory });
  for (const quantity of [0, 1, 1_000_000_000]) t.deepEqual(await set({ quantity }), []);
  for (const quantity of [-1, 1_000_000_001]) t.deepEqual(await set({ quantity }), ['quantity']);
  t.deepEqual(await set({}), ['quantity']);
});

test('Validation - a page has 1 to 100 rows', async (t) => {
  const list = (limit: number) => violations('OrderService/ListOrders', ListOrdersRequest, { limit });
  for (const limit of [1, 100]) t.deepEqual(await list(limit), []);
  for (const limit of [0, -1, 101, 2 ** 31 - 1]) t.deepEqual(await list(limit), ['limit']);
});

test('Validation - a request has at most 100 ids', async (t) => {
  const list = (count: number) =>
    violations('PetService/ListPets', ListPetsRequest, { ids: Array.from({ length: count }, (_, id) => BigInt(id)) });
  t.deepEqual(await list(100), []);
  t.deepEqual(await list(101), ['ids']);
});

const parcels = createValidation(parcelRegistry);

/** The violations of a parcel: path, and name in the message. */
function inParcel(parcel: object, method = 'CreateParcel') {
  const operation = parcelOperations.find(({ path }) => path.endsWith(method));
  if (operation === undefined) throw new Error(`there is no ${method}`);
  const bytes = toBinary(operation.input, fromJson(operation.input, { parcel } as never));
  return parcels(operation, bytes).map(({ path, name }) => [path, name]);
}

test('Validation - an item of a list is named with its index', (t) => {
  const labels = ['red'];
  t.deepEqual(inParcel({ labels }), []);
  t.deepEqual(inParcel({ labels: ['red', 'yellow', ''] }), [
    ['parcel.labels[1]', 'labels[1]'],
    ['parcel.labels[2]', 'labels[2]'],
  ]);
  t.deepEqual(inParcel({ labels, itemSizes: [1, 0, 9, 10] }), [
    ['parcel.itemSizes[1]', 'itemSizes[1]'],
    ['parcel.itemSizes[3]', 'itemSizes[3]'],
  ]);
  t.deepEqual(inParcel({ labels, colors: ['red', 0, 7] }), [
    ['parcel.colors[1]', 'colors[1]'],
    ['parcel.colors[2]', 'colors[2]'],
  ]);
});

test('Validation - a list is named when it has too few or too many items, or one of them twice', (t) => {
  for (const labels of [[], ['a', 'b', 'c', 'd'], ['a', 'b', 'a']]) {
    t.deepEqual(inParcel({ labels }), [['parcel.labels', 'labels']]);
  }
});

test('Validation - a field of a message in a list is named with the way to it', (t) => {
  const labels = ['red'];
  const lines = [{ name: 'short' }, { name: 'too long', notes: ['ok', ''] }];
  t.deepEqual(inParcel({ labels, lines, best: { notes: [''] } }), [
    ['parcel.lines[1].name', 'lines[1].name'],
    ['parcel.lines[1].notes[1]', 'lines[1].notes[1]'],
    ['parcel.best.notes[0]', 'best.notes[0]'],
  ]);
});

test('Validation - a list that may be absent is named like any list, over REST', (t) => {
  const inPatch = (values: string[]) => inParcel({ labels: { values } }, 'UpdateParcel');
  t.deepEqual(inParcel({}, 'UpdateParcel'), []);
  t.deepEqual(inPatch([]), []);
  t.deepEqual(inPatch(['red', '', 'a\0']), [
    ['parcel.labels.values[1]', 'labels[1]'],
    ['parcel.labels.values[2]', 'labels[2]'],
  ]);
  t.deepEqual(inPatch(['a', 'a']), [['parcel.labels.values', 'labels']]);
});

test('Validation - no text of a list has U+0000', (t) => {
  t.deepEqual(inParcel({ name: 'a\0', labels: ['a', 'b\0'], lines: [{}, { notes: ['\0'] }] }), [
    ['parcel.name', 'name'],
    ['parcel.labels[1]', 'labels[1]'],
    ['parcel.lines[1].notes[0]', 'lines[1].notes[0]'],
  ]);
});

test('Validation - a second call has the same violations', async (t) => {
  for (let round = 0; round < 3; round += 1) {
    t.deepEqual(await createPet({ name: '', categoryId: 1n }), ['name']);
    t.deepEqual(await createPet({ name: 'Tom', categoryId: 1n }), []);
  }
});
