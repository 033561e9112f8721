// Made from the proto files by "npm run generate". DO NOT EDIT.
/**
 * The typed gRPC client: `import { createClient } from 'petstore-client'`. See docs/client.md, its README.
 *
 * Messages are those of the proto files as ts-proto generates them: `bigint` for int64, fields in camelCase. Of those
 * that are only sent lists may be left out (`Input`).
 */
import { type Client, clientOf } from '../../src/platform/client/client.ts';
import type { EventOf } from '../../src/platform/client/events.ts';
import type { ClientOptions } from '../../src/platform/client/index.ts';
import type { Input } from '../../src/platform/client/methods.ts';
import { FEED, SERVICES } from './services.ts';

export { CallError as PetstoreError } from '../../src/platform/client/call-error.ts';
export * from '../../src/platform/client/index.ts';

export type { Category } from '../petstore/v1/categories.ts';
export type { Pet } from '../petstore/v1/pets.ts';
export { PetStatus } from '../petstore/v1/pets.ts';
export type { InventoryItem } from '../petstore/v1/inventory.ts';
export type { Order } from '../petstore/v1/orders.ts';
export type { Event } from '../petstore/v1/events.ts';
import type { NewCategory as WholeNewCategory } from '../petstore/v1/categories.ts';
export type NewCategory = Input<WholeNewCategory>;
import type { CategoryPatch as WholeCategoryPatch } from '../petstore/v1/categories.ts';
export type CategoryPatch = Input<WholeCategoryPatch>;
import type { NewPet as WholeNewPet } from '../petstore/v1/pets.ts';
export type NewPet = Input<WholeNewPet>;
import type { PetPatch as WholePetPatch } from '../petstore/v1/pets.ts';
export type PetPatch = Input<WholePetPatch>;
import type { InventoryUpdate as WholeInventoryUpdate } from '../petstore/v1/inventory.ts';
export type InventoryUpdate = Input<WholeInventoryUpdate>;
import type { OrderPatch as WholeOrderPatch } from '../petstore/v1/orders.ts';
export type OrderPatch = Input<WholeOrderPatch>;

/** The services, and the feed of events. */
export interface PetstoreClient extends Client<typeof SERVICES, EventOf<typeof FEED.watchEvents>> {}

/**
 * A client of the server at `address`, with an account's API key. It connects with the first call. Use one per
 * process: its calls share a connection, and stay within the account's limits together.
 */
export function createClient(options: ClientOptions): PetstoreClient {
  return clientOf(SERVICES, FEED.watchEvents, options);
}
