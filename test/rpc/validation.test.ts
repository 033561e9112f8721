/** The rules of the proto files, by the interceptor that checks them. */
import { create, type DescMessage, fromJson, toBinary } from '@bufbuild/protobuf';
import test from 'ava';
import { rulesOf } from '../../scripts/openapi/constraints.ts';
import { ApiError } from '../../src/platform/errors.ts';
import { readMessage } from '../../src/platform/interceptors/read-message.ts';
import { loadOperations } from '../../src/platform/proto/operations.ts';
import { createValidation, MAX_JUDGED } from '../../src/platform/proto/validation-rules.ts';
import { Turns } from '../../src/platform/rpc/turns.ts';
import { parcelOperations, parcelRegistry } from '../support/lists/parcels.ts';
import { newCall, protoRegistry } from '../support/service/call.ts';

const interceptor = readMessage(createValidation(protoRegistry), new Turns());

type Request = readonly [path: string, message: object];

async function refusal([path, message]: Request): Promise<ApiError | undefined> {
  const { input } = newCall(path).operation;
  const bytes = toBinary(input, create(input, message as never));
  try {
    await interceptor.check(newCall(path, { bytes }));
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  return undefined;
}

async function violations(request: Request): Promise<string[]> {
  return (await refusal(request))?.violations.map(({ name }) => name) ?? [];
}

test('Validation - a status is one of the three, neither zero nor a larger number', async (t) => {
  for (const place of [
    (status?: number): Request => ['PetService/CreatePet', { pet: { name: 'Tom', categoryId: 1n, status } }],
    (status?: number): Request => ['PetService/UpdatePet', { petId: 1n, pet: { status } }],
    (status?: number): Request => ['PetService/ListPets', { status }],
    (status?: number): Request => ['InventoryService/ListInventory', { status }],
  ]) {
    for (const good of [1, 2, 3, undefined]) t.deepEqual(await violations(place(good)), [], `${good}`);
    for (const bad of [0, 4, -1]) t.deepEqual(await violations(place(bad)), ['status'], `${bad}`);
  }
});

test('Validation - the violations of an absent body are its required fields', async (t) => {
  const bodies = {
    'PetService/CreatePet': ['name', 'categoryId'],
    'CategoryService/ReplaceCategory': ['name'],
    'InventoryService/SetInventory': ['quantity'],
    'OrderService/PlaceOrder': [],
    'PetService/UpdatePet': [],
  };
  for (const [path, required] of Object.entries(bodies)) t.deepEqual(await violations([path, {}]), required, path);
});

test('Validation - every field with a violation is named, with its path in the message', async (t) => {
  const error = await refusal(['PetService/CreatePet', { pet: { name: ' ', status: 0 } }]);
  const named = error?.violations.map((violation) => [violation.path, violation.name]);
  const fields = { name: 'pet.name', categoryId: 'pet.category_id', status: 'pet.status' };
  t.deepEqual([error?.code, named], ['INVALID_ARGUMENT', Object.entries(fields).map(([name, at]) => [at, name])]);
  for (const { name, description } of error?.violations ?? []) {
    t.true(error?.message.includes(`${name}: ${description}`));
  }
});

const parcels = createValidation(parcelRegistry);

const inProto = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The violations of a parcel: their paths behind `parcel.`, and the names in the message where these differ. */
function inParcel(parcel: object, method = 'CreateParcel') {
  const operation = parcelOperations.find(({ path }) => path.endsWith(method));
  if (operation === undefined) throw new Error(`there is no ${method}`);
  return parcels(operation, fromJson(operation.input, { parcel } as never)).map(({ path, name }) =>
    path === `parcel.${inProto(name)}` ? name : [path, name],
  );
}

const labels = ['red'];

test('Validation - an item of a list is named with its index', (t) => {
  t.deepEqual(inParcel({ labels }), []);
  t.deepEqual(inParcel({ labels: ['red', 'yellow', ''] }), ['labels[1]', 'labels[2]']);
  t.deepEqual(inParcel({ labels, itemSizes: [1, 0, 9, 10] }), ['itemSizes[1]', 'itemSizes[3]']);
  t.deepEqual(inParcel({ labels, colors: ['red', 0, 7] }), ['colors[1]', 'colors[2]']);
  const lines = [{ name: 'short' }, { name: 'too long', notes: ['ok', ''] }];
  const inMessages = ['lines[1].name', 'lines[1].notes[1]', 'best.notes[0]'];
  t.deepEqual(inParcel({ labels, lines, best: { notes: [''] } }), inMessages);
  const withNul = { name: 'a\0', labels: ['a', 'b\0'], lines: [{}, { notes: ['\0'] }] };
  t.deepEqual(inParcel(withNul), ['name', 'labels[1]', 'lines[1].notes[0]']);
});

test('Validation - a forbidden value of an enum is told with those that are allowed', (t) => {
  const operation = parcelOperations.find(({ path }) => path.endsWith('CreateParcel'));
  const said = (box: string | number) =>
    operation && parcels(operation, fromJson(operation.input, { parcel: { labels, box } }));
  t.deepEqual(said('blue'), []);
  for (const box of ['red', 0, 7]) t.like(said(box), [{ name: 'box', description: 'is none of blue' }]);
});

test('Validation - a list is named when it has too few or too many items, or one of them twice', (t) => {
  for (const wrong of [[], ['a', 'b', 'c', 'd'], ['a', 'b', 'a']]) t.deepEqual(inParcel({ labels: wrong }), ['labels']);
});

test('Validation - a list of hundreds is judged by its first items, and an error has a bounded length', async (t) => {
  const error = await refusal(['EventService/ListEvents', { types: Array(900).fill('') }]);
  const firstNames = error?.violations.slice(0, 2).map(({ name }) => name);
  t.deepEqual(firstNames, ['types', 'types[0]']);
  t.true(JSON.stringify(error?.violations).length < 8_000);
  const check = ({ fields }: DescMessage): void => {
    for (const field of fields) {
      const { maxItems } = (rulesOf(field).repeated ?? {}) as { readonly maxItems?: string };
      const isBounded = field.fieldKind !== 'list' || Number(maxItems) <= MAX_JUDGED;
      t.true(isBounded, `${field}: a list of a request needs a rule max_items`);
      if (field.message !== undefined) check(field.message);
    }
  };
  for (const { input } of loadOperations().byPath.values()) check(input);
});

test('Validation - a list that may be absent is named like any list, over REST', (t) => {
  const inPatch = (values: string[]) => inParcel({ labels: { values } }, 'UpdateParcel');
  t.deepEqual(inParcel({}, 'UpdateParcel'), []);
  t.deepEqual(inPatch([]), []);
  const paths = [1, 2].map((index) => [`parcel.labels.values[${index}]`, `labels[${index}]`]);
  t.deepEqual(inPatch(['red', '', 'a\0']), paths);
  t.deepEqual(inPatch(['a', 'a']), [['parcel.labels.values', 'labels']]);
  const inTwoWords = inParcel({ oldLabels: { values: [''] } }, 'UpdateParcel');
  t.deepEqual(inTwoWords, [['parcel.old_labels.values[0]', 'oldLabels[0]']]);
});
