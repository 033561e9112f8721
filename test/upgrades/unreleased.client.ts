/**
 * A caller's program with all that the next release promises. Once it is released, never change it: it must compile
 * with each later client and run against each later service. If it doesn't, callers' programs don't either: a new field
 * must be optional in a request, lists included, and have a default.
 */
import type * as Api from 'petstore-client';
import { createClient, etagOf, PetStatus, PetstoreError, pages } from 'petstore-client';

const limits = { timeoutMs: 20_000, maxAttempts: 3, maxInFlight: 4 };
const options: Api.ClientOptions = { address: '127.0.0.1:8080', apiKey: process.env.API_KEY ?? '', ...limits };
const client = createClient(options);
const { pets, categories, orders, inventory } = client;

// Requests with as little as possible.
const { id: few } = await categories.createCategory({ category: { name: 'Few' } });
const least: Api.NewPet = { name: 'Tom', categoryId: few };
const { id: petId } = await pets.createPet({ pet: least });
const { id: emptyId } = await orders.placeOrder({ order: {} });
await pets.replacePet({ petId, pet: { name: 'Tim', categoryId: few } });
await pets.updatePet({ petId, pet: {} });
await categories.replaceCategory({ categoryId: few, category: { name: 'Fewer' } });
await categories.updateCategory({ categoryId: few, category: {} });
await orders.updateOrder({ orderId: emptyId ?? 0n, order: {} });
await pets.listPets({});
await categories.listCategories({});
await orders.listOrders({});
await inventory.listInventory({});

// Requests with every field.
const once: Api.CreateOptions = { idempotencyKey: crypto.randomUUID(), timeoutMs: 10_000 };
const whole = { name: 'All', description: 'Of it' };
const category: Api.Category = await categories.createCategory({ category: whole }, once);
expect(category.name === 'All' && category.description === 'Of it', 'a category');
const categoryId = category.id;
const most: Api.NewPet = { name: 'Tom', categoryId, status: PetStatus.pending };
const pet: Api.Pet = await pets.createPet({ pet: most });
expect(pet.name === 'Tom' && pet.categoryId === categoryId && pet.status === PetStatus.pending, 'a pet');
await pets.replacePet({ petId: pet.id, pet: { ...most, status: PetStatus.available } }, { ifMatch: etagOf(pet) });
const change: Api.WriteOptions = { ifMatch: '*', deadline: new Date(Date.now() + 10_000) };
await pets.updatePet({ petId: pet.id, pet: { name: 'Tim', categoryId, status: PetStatus.available } }, change);
await categories.updateCategory({ categoryId, category: { name: 'All', description: 'Of them' } });
const item: Api.InventoryItem = await inventory.setInventory({ petId: pet.id, inventory: { quantity: 9 } });
expect(item.petId === pet.id && item.quantity === 9 && item.status === PetStatus.available, 'an inventory entry');
const shipDate = { seconds: 1_800_000_000n, nanos: 0 };
const wanted: Api.Order = { petId: pet.id, quantity: 2, shipDate, complete: false };
const order = await orders.placeOrder({ order: wanted });
const orderId = order.id ?? 0n;
expect(order.quantity === 2 && order.shipDate?.seconds === shipDate.seconds && order.complete === false, 'an order');
await orders.updateOrder({ orderId, order: { quantity: 3, shipDate, complete: false } });

// Reads.
const brief: Api.CallOptions = { signal: AbortSignal.timeout(10_000) };
expect((await pets.getPet({ petId: pet.id }, brief)).name === 'Tim', 'getPet');
expect((await categories.getCategory({ categoryId })).description === 'Of them', 'getCategory');
expect((await orders.getOrder({ orderId })).quantity === 3, 'getOrder');
expect((await inventory.getInventoryItem({ petId: pet.id })).quantity === 6, 'getInventoryItem');
const { pets: found } = await pets.listPets({ ids: [petId, pet.id] });
expect(found.length === 2, 'listPets by ids');
let seen = 0;
for await (const page of pages(pets.listPets, { status: PetStatus.available, categoryId, limit: 1 })) {
  seen += page.pets.length;
}
for await (const page of pages(orders.listOrders, { petId: pet.id, complete: false, limit: 1 }, brief)) {
  seen += page.orders.length;
}
expect(seen === 2, 'pages');
await inventory.listInventory({ status: PetStatus.available, limit: 1, pageToken: '' });

// Errors.
const error = await pets.createPet({ pet: { name: ' ' } }).catch((reason: unknown) => reason);
if (!(error instanceof PetstoreError)) throw error;
const violations: readonly Api.FieldViolation[] = error.violations;
expect(error.code === 'INVALID_ARGUMENT' && error.grpcStatus === 3 && error.retryAfterMs === undefined, 'an error');
expect(violations.length === 2 && violations.every(({ field, description }) => field && description), 'its violations');

await orders.cancelOrder({ orderId }, { ifMatch: '*' });
await pets.deletePet({ petId: pet.id });
await pets.deletePet({ petId });
await categories.deleteCategory({ categoryId });
await categories.deleteCategory({ categoryId: few });
await client.close();

function expect(isTrue: boolean, what: string): void {
  if (!isTrue) throw new Error(`${what}: not as released`);
}
