// Made from the proto files by "npm run generate". DO NOT EDIT.
import { CategoryServiceService } from '../petstore/v1/categories.ts';
import { InventoryServiceService } from '../petstore/v1/inventory.ts';
import { OrderServiceService } from '../petstore/v1/orders.ts';
import { PetServiceService } from '../petstore/v1/pets.ts';

/** The feed of events. */
export { EventServiceService as FEED } from '../petstore/v1/events.ts';

/** The services whose methods are all unary, under the names of their proto files. */
export const SERVICES = {
  categories: CategoryServiceService,
  inventory: InventoryServiceService,
  orders: OrderServiceService,
  pets: PetServiceService,
} as const;
