/** The shop's services. The server serves them, reflection and health list them. */
import { type CategoryServiceServer, CategoryServiceService } from '../../gen/petstore/v1/categories.ts';
import { type EventServiceServer, EventServiceService } from '../../gen/petstore/v1/events.ts';
import { type InventoryServiceServer, InventoryServiceService } from '../../gen/petstore/v1/inventory.ts';
import { type OrderServiceServer, OrderServiceService } from '../../gen/petstore/v1/orders.ts';
import { type PetServiceServer, PetServiceService } from '../../gen/petstore/v1/pets.ts';
import type { EventFeed } from '../platform/events/feed.ts';
import { eventService } from '../platform/events/service.ts';
import { type Implementation, implement } from '../platform/rpc/methods.ts';
import { categoryService } from './categories/service.ts';
import { resourceOf } from './events.ts';
import { inventoryService } from './inventory/service.ts';
import { orderService } from './orders/service.ts';
import { petService } from './pets/service.ts';
import type { ShopSettings } from './settings.ts';
import type { ShopStore } from './tables.ts';

export interface ShopParts {
  readonly store: ShopStore;
  readonly events: EventFeed;
  readonly settings: ShopSettings;
}

export function shopServices({ store, events }: ShopParts): readonly Implementation[] {
  return [
    implement<CategoryServiceServer>(CategoryServiceService, categoryService(store)),
    implement<EventServiceServer>(EventServiceService, eventService(events, resourceOf)),
    implement<InventoryServiceServer>(InventoryServiceService, inventoryService(store)),
    implement<OrderServiceServer>(OrderServiceService, orderService(store)),
    implement<PetServiceServer>(PetServiceService, petService(store)),
  ];
}
