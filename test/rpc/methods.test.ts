/** Every method of the public services once, over a real channel to the server. */
import anyTest, { type TestFn } from 'ava';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { InventoryServiceService as Inventory } from '../../gen/petstore/v1/inventory.ts';
import { OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { Pet, PetStatus, PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

const test = anyTest as TestFn<TestServer>;

test.beforeEach(async (t) => {
  t.context = await startTestServer();
});
test.afterEach.always((t) => t.context.close());

test('CategoryService - create, get, list, replace, update, delete', async (t) => {
  const { grpc } = t.context;
  const created = await grpc.call(Categories.createCategory, {
    category: { name: ' Cats ', description: 'They purr.' },
  });
  t.deepEqual(created, { id: created.id, name: 'Cats', description: 'They purr.' });
  const { id: categoryId } = created;
  t.deepEqual(await grpc.call(Categories.getCategory, { categoryId }), created);
  const other = await grpc.category('Dogs');

  const list = await grpc.call(Categories.listCategories, { limit: 1, pageToken: '' });
  t.deepEqual(list.categories, [created]);
  const rest = await grpc.call(Categories.listCategories, { limit: 1, pageToken: list.nextPageToken });
  t.deepEqual([rest.categories.map(({ id }) => id), rest.nextPageToken], [[other], '']);

  const patch = { categoryId, category: { name: 'Big cats' } };
  t.deepEqual(await grpc.call(Categories.updateCategory, patch), { ...created, name: 'Big cats' });
  const replaced = await grpc.call(Categories.replaceCategory, { categoryId, category: { name: 'Small cats' } });
  t.deepEqual(replaced, { id: categoryId, name: 'Small cats', description: undefined });
  t.deepEqual(await grpc.call(Categories.deleteCategory, { categoryId }), {});
  t.is((await grpc.failure(Categories.getCategory, { categoryId })).reason, 'CATEGORY_NOT_FOUND');
});

test('PetService - create, get, list, replace, update, delete', async (t) => {
  const { grpc } = t.context;
  const categoryId = await grpc.category();
  const created = await grpc.call(Pets.createPet, { pet: { name: ' Tom ', categoryId } });
  t.deepEqual(created, Pet.fromPartial({ id: created.id, name: 'Tom', categoryId, status: PetStatus.available }));
  const { id: petId } = created;
  t.deepEqual(await grpc.call(Pets.getPet, { petId }), created);

  const other = await grpc.call(Pets.createPet, { pet: { name: 'Kit', categoryId, status: PetStatus.sold } });
  const sold = await grpc.call(Pets.listPets, { status: PetStatus.sold, ids: [], pageToken: '' });
  t.deepEqual(sold, { pets: [other], nextPageToken: '' });
  const byIds = await grpc.call(Pets.listPets, { ids: [other.id, petId, 999n], limit: 1, pageToken: '' });
  t.deepEqual(byIds, { pets: [created, other], nextPageToken: '' });
  const first = await grpc.call(Pets.listPets, { categoryId, ids: [], limit: 1, pageToken: '' });
  t.deepEqual(first.pets, [created]);
  const next = await grpc.call(Pets.listPets, { categoryId, ids: [], limit: 1, pageToken: first.nextPageToken });
  t.deepEqual(next, { pets: [other], nextPageToken: '' });

  const patch = { petId, pet: { status: PetStatus.pending } };
  t.deepEqual(await grpc.call(Pets.updatePet, patch), { ...created, status: PetStatus.pending });
  const replaced = await grpc.call(Pets.replacePet, { petId, pet: { name: 'Tim', categoryId } });
  t.deepEqual(replaced, { ...created, name: 'Tim', status: PetStatus.available });
  t.deepEqual(await grpc.call(Pets.deletePet, { petId }), {});
  t.is((await grpc.failure(Pets.getPet, { petId })).reason, 'PET_NOT_FOUND');
});

test('OrderService - place, get, list, update, cancel', async (t) => {
  const { grpc } = t.context;
  const petId = await grpc.pet({ stock: 5 });
  const shipDate = { seconds: 1_782_864_000n, nanos: 1 };
  const placed = await grpc.call(Orders.placeOrder, { order: { petId, quantity: 2, shipDate } });
  t.deepEqual(placed, { id: placed.id, petId, quantity: 2, shipDate, complete: false });
  const orderId = placed.id ?? -1n;
  t.deepEqual(await grpc.call(Orders.getOrder, { orderId }), placed);

  const bare = await grpc.call(Orders.placeOrder, { order: undefined });
  t.deepEqual(bare, { id: bare.id, petId: undefined, quantity: 1, shipDate: undefined, complete: false });
  const ofPet = await grpc.call(Orders.listOrders, { petId, complete: false, pageToken: '' });
  t.deepEqual(ofPet, { orders: [placed], nextPageToken: '' });
  const first = await grpc.call(Orders.listOrders, { limit: 1, pageToken: '' });
  const next = await grpc.call(Orders.listOrders, { limit: 1, pageToken: first.nextPageToken });
  t.deepEqual([...first.orders, ...next.orders], [placed, bare]);

  const updated = await grpc.call(Orders.updateOrder, { orderId, order: { quantity: 3 } });
  t.deepEqual(updated, { ...placed, quantity: 3 });
  t.is((await grpc.call(Inventory.getInventoryItem, { petId })).quantity, 2);
  t.deepEqual(await grpc.call(Orders.cancelOrder, { orderId }), {});
  t.is((await grpc.call(Inventory.getInventoryItem, { petId })).quantity, 5);
});

test('InventoryService - list, get, set', async (t) => {
  const { grpc } = t.context;
  const petIds = [await grpc.pet(), await grpc.pet({ stock: 7 })];
  const [petId = -1n, other = -1n] = petIds;
  const empty = { petId, quantity: 0, status: PetStatus.available };
  t.deepEqual(await grpc.call(Inventory.getInventoryItem, { petId }), empty);
  const set = await grpc.call(Inventory.setInventory, { petId, inventory: { quantity: 3 } });
  t.deepEqual(set, { ...empty, quantity: 3 });

  const first = await grpc.call(Inventory.listInventory, { limit: 1, pageToken: '' });
  t.deepEqual(first.items, [set]);
  const next = await grpc.call(Inventory.listInventory, { limit: 1, pageToken: first.nextPageToken });
  t.deepEqual(next, { items: [{ petId: other, quantity: 7, status: PetStatus.available }], nextPageToken: '' });
  const sold = await grpc.call(Inventory.listInventory, { status: PetStatus.sold, pageToken: '' });
  t.deepEqual(sold, { items: [], nextPageToken: '' });
});
