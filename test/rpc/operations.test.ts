/** What the proto files say of each operation, and the entity tags of messages. */
import { readFileSync } from 'node:fs';
import { type DescMethod, fromBinary } from '@bufbuild/protobuf';
import { type DescriptorProto, type FileDescriptorProto, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import test from 'ava';
import { Category } from '../../gen/petstore/v1/categories.ts';
import { InventoryItem } from '../../gen/petstore/v1/inventory.ts';
import { Order } from '../../gen/petstore/v1/orders.ts';
import { Pet, PetStatus } from '../../gen/petstore/v1/pets.ts';
import { loadOperations } from '../../src/platform/proto/operations.ts';
import { entityTag, MAX_TAGS, parseEntityTags } from '../../src/platform/rpc/entity-tags.ts';
import { createGrpcServer } from '../../src/platform/rpc/server.ts';
import { parcelOperations } from '../support/lists/parcels.ts';

const operations = loadOperations();
const { registry, byPath } = operations;
/** The services of 1.0.0 but for the feed: what the contract says of each of their operations is pinned here. */
const PINNED = ['Pet', 'Category', 'Order', 'Inventory'].map((name) => `petstore.v1.${name}Service`);

const methods: DescMethod[] = PINNED.flatMap((name) => registry.getService(name)?.methods ?? []);

test('Operations - a verb of a resource takes If-Match, a POST that is not idempotent an idempotency key', (t) => {
  const of = (name: string) => parcelOperations.find(({ path }) => path.endsWith(`/${name}`));
  t.like(of('CloseParcel'), { condition: 'if-match', takesIdempotencyKey: true, isTagged: true });
  t.like(of('CreateParcels'), { condition: undefined, takesIdempotencyKey: true });
  t.like(of('UpdateParcel'), { condition: 'if-match', takesIdempotencyKey: false });
  t.like(of('GetParcel'), { condition: 'if-none-match', takesIdempotencyKey: false });
  const matches = (name: string, path: string) => of(name)?.routes.map(({ pattern }) => pattern.exec(path)?.groups);
  t.deepEqual(matches('CloseParcel', '/parcels/a:b:close'), [{ parcel_id: 'a:b' }] as never);
  t.deepEqual(matches('GetParcel', '/parcels/a:b'), Array(2).fill({ parcel_id: 'a:b' }));
  t.deepEqual(matches('GetParcel', '/parcels/a:close/'), [undefined, undefined]);
});

test('Operations - one that nothing serves ends the start, which says where its service belongs', (t) => {
  const message = /^nothing serves \/.+: add its service to src\/shop\/services\.ts or src\/server\.ts$/;
  t.throws(() => createGrpcServer({ operations, methods: [] } as never), { message });
});

/** The operations of proto files in which pets.proto is another one. */
function withPets(change: (file: FileDescriptorProto, page: DescriptorProto) => void) {
  const set = fromBinary(FileDescriptorSetSchema, readFileSync('gen/descriptors.binpb'));
  const file = set.file.find(({ name }) => name === 'petstore/v1/pets.proto');
  const page = file?.messageType.find(({ name }) => name === 'ListPetsResponse');
  if (file !== undefined && page !== undefined) change(file, page);
  return loadOperations(set).byPath.get('/petstore.v1.PetService/ListPets');
}

test('Operations - a page is its list and where the next begins, by their names; anything else ends the start', (t) => {
  const { response } = withPets((_, page) => void page.field.reverse()) ?? {};
  t.like(response, { list: { name: 'pets', number: 1 }, next: { field: { name: 'next_page_token' } } });
  const why = { message: /^\/petstore\.v1\.PetService\/ListPets: petstore\.v1\.ListPetsResponse must have one list/ };
  t.throws(() => withPets((_, page) => void page.field.shift()), why);
  const more = { name: 'total', number: 3 };
  t.throws(() => withPets((_, page) => void page.field.push({ ...page.field[1], ...more } as never)), why);
  const renamed = (file: FileDescriptorProto) => {
    const ids = file.messageType
      .find(({ name }) => name === 'ListPetsRequest')
      ?.field.find(({ name }) => name === 'ids');
    Object.assign(ids ?? {}, { name: 'others', jsonName: 'others' });
  };
  t.throws(() => withPets(renamed), { message: /ListPets: id_list must name a list of petstore\.v1\.ListPetsRequest/ });
});

// A field without presence is always in the JSON, but not in the bytes while it is zero: tags would stay as they were.
// A list is in neither while it is empty.
test('Entity tags - a field that is added to a tagged message can be absent', (t) => {
  const isTagged = ({ parent, name }: DescMethod) => byPath.get(`/${parent.typeName}/${name}`)?.isTagged;
  const tagged = new Set(methods.filter(isTagged).map(({ output }) => output));
  const always = [...tagged].flatMap(({ name, fields }) =>
    fields
      .filter(({ proto, fieldKind }) => !proto.proto3Optional && fieldKind !== 'list')
      .map((field) => `${name}.${field.name}`),
  );
  t.deepEqual(always, [
    ...['id', 'name', 'category_id', 'status'].map((name) => `Pet.${name}`),
    ...['id', 'name'].map((name) => `Category.${name}`),
    ...['pet_id', 'quantity', 'status'].map((name) => `InventoryItem.${name}`),
  ]);
});

test('Entity tags - a list is parsed completely, with any white space and empty elements', (t) => {
  for (const [text, ...tags] of [
    ['"a"', '"a"'],
    ['"a,b", ""', '"a,b"', '""'],
    [' ,\t"a",, \t,W/"b,c" ,"*/\\W!#~\x80\xff",', '"a"', 'W/"b,c"', '"*/\\W!#~\x80\xff"'],
  ] as const) {
    t.deepEqual(parseEntityTags(text), tags);
  }
});

test('Entity tags - a malformed or empty list is refused', (t) => {
  const wrong = ['', ' ', ',', ' , ,', 'a', '"a', 'a"', '"a" "b"', '"a"b', 'w/"a"', 'W/', 'W/a', 'W /"a"', 'W/ "a"'];
  const others = ['*, "a"', '"a", *', '*,*', '"a";q=1', '"a" x', '"a\u007f"', '"a b"', "'a'", '"a"b"', '**'];
  for (const text of [...wrong, ...others]) t.is(parseEntityTags(text), undefined, text);
});

test('Entity tags - a list of more than a hundred is refused, by its beginning', (t) => {
  t.is(parseEntityTags('"a",'.repeat(MAX_TAGS))?.length, MAX_TAGS);
  t.is(parseEntityTags('"a", '.repeat(MAX_TAGS))?.length, MAX_TAGS);
  for (const list of ['"a",'.repeat(MAX_TAGS + 1), ','.repeat(2 * MAX_TAGS + 1)])
    t.is(parseEntityTags(list), undefined);
});

// A release that changes one of these invalidates all tags that callers hold.
test('Entity tags - the tag of a representation does not change between releases', (t) => {
  const shipDate = { seconds: 1_798_804_800n, nanos: 1 };
  const order = { id: 7n, petId: undefined, quantity: 1, shipDate: undefined, complete: false };
  const pet = { id: 7n, name: 'Tom 😀', categoryId: -1n, status: PetStatus.sold };
  for (const [message, expected] of [
    [Pet.encode(Pet.fromPartial(pet)), '"DJ9xE2uc4MbE_watJnLOxq"'],
    [Category.encode({ id: 7n, name: 'Cats', description: undefined }), '"Ombv20qWTOms9JEWnIp23G"'],
    [Category.encode({ id: 7n, name: 'Cats', description: '' }), '"1wYBR2w67kLcWc6Z_7m2gf"'],
    [Order.encode(order), '"ADroSKiG2iezivELm7934M"'],
    [Order.encode({ ...order, petId: 2n ** 62n, shipDate, complete: true }), '"Hp_JjP2Od4a2BHeSo5KwOt"'],
    [InventoryItem.encode({ petId: 7n, quantity: 0, status: PetStatus.available }), '"CpbaOLCG103lZHpVa_-Eob"'],
  ] as const) {
    t.is(entityTag(message.finish()), expected);
  }
});
