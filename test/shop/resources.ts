/** What the tests of every operation, and their callers, know of the shop. */
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { InventoryServiceService as Inventory } from '../../gen/petstore/v1/inventory.ts';
import { type Order, OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import type { Pet } from '../../src/shop/pets/table.ts';
import type { Method, Partly } from '../support/calls/grpc.ts';
import type { Resource } from '../support/contract/resources.ts';

/** The resources, by service of the public package. */
export const RESOURCES: Readonly<Record<string, Resource>> = {
  CategoryService: {
    pages: 2,
    whole: async () => ({ name: 'Cats' }),
    part: { name: 'Rats' },
    dearest: async () => ({ name: 'n'.repeat(200), description: '\x01'.repeat(2_000) }),
  },
  PetService: {
    pages: 1,
    whole: async (rest) => ({ name: 'Tom', categoryId: await rest.category() }),
    part: { name: 'Rex' },
    dearest: async (rest) => ({ name: '猫'.repeat(200), categoryId: await rest.category() }),
  },
  OrderService: {
    pages: 3,
    whole: async () => ({ quantity: 2 }),
    part: { quantity: 9 },
    dearest: async (rest) => ({ petId: await rest.pet({ stock: 1_000_000_000 }), quantity: 1 }),
  },
  InventoryService: { pages: 4, whole: async () => ({ quantity: 9 }), make: (rest) => rest.pet({ stock: 3 }) },
  EventService: {},
};

/** What a caller of the REST side makes of the shop. */
export abstract class RestMakers {
  abstract put(path: string, json: unknown): Promise<unknown>;
  /** Sends a POST, which has to be carried out: it creates something, or is a verb. */
  // biome-ignore lint/suspicious/noExplicitAny: the body of the response
  abstract created(path: string, json: unknown): Promise<any>;

  async category(name = 'Cats'): Promise<number> {
    return (await this.created('/categories', { name })).id;
  }

  /** Creates a pet with `stock` units and returns its id. */
  async pet({ stock = 0, ...fields }: { stock?: number; name?: string; categoryId?: number; status?: string } = {}) {
    const categoryId = fields.categoryId ?? (await this.category());
    const { id } = await this.created('/pets', { name: 'Tom', ...fields, categoryId });
    if (stock > 0) await this.put(`/store/inventory/${id}`, { quantity: stock });
    return id;
  }

  order(fields: object = {}): Promise<{ id: number; petId?: number; quantity: number; complete: boolean }> {
    return this.created('/store/orders', fields);
  }
}

/** What a caller of gRPC makes of the shop. */
export abstract class GrpcMakers {
  abstract call<Q, A>(method: Method<Q, A>, request: Partly<Q>): Promise<A>;

  async category(name = 'Cats'): Promise<bigint> {
    return (await this.call(Categories.createCategory, { category: { name } })).id;
  }

  /** Creates a pet with `stock` units and returns its id. */
  async pet({ stock = 0 }: { readonly stock?: number } = {}): Promise<bigint> {
    const categoryId = await this.category();
    const { id } = await this.call(Pets.createPet, { pet: { name: 'Tom', categoryId } });
    if (stock > 0) await this.call(Inventory.setInventory, { petId: id, inventory: { quantity: stock } });
    return id;
  }

  async order(order: Order = {}): Promise<bigint> {
    return (await this.call(Orders.placeOrder, { order })).id ?? -1n;
  }
}

type NewPet = Omit<Pet, 'id' | 'quantity'>;

/** The fields of a pet to insert, of which a test says those that matter to it. */
export function aPet(fields: Pick<Pet, 'categoryId'> & Partial<NewPet>): NewPet {
  return { name: 'Tom', status: 'available', ...fields };
}
