/** The shop's services. The server serves them, reflection and health list them. */
import { type BoatServiceServer, BoatServiceService } from '../../gen/harbour/v1/boats.ts';
import { type EventServiceServer, EventServiceService } from '../../gen/harbour/v1/events.ts';
import { type InspectionServiceServer, InspectionServiceService } from '../../gen/harbour/v1/inspections.ts';
import { type RentalServiceServer, RentalServiceService } from '../../gen/harbour/v1/rentals.ts';
import type { EventFeed } from '../platform/events/feed.ts';
import { eventService } from '../platform/events/service.ts';
import { type Implementation, implement } from '../platform/rpc/methods.ts';
import { boatService } from './boats/service.ts';
import { resourceOf } from './events.ts';
import { inspectionService } from './inspections/service.ts';
import { rentalService } from './rentals/service.ts';
import type { ShopSettings } from './settings.ts';
import type { ShopStore } from './tables.ts';

export interface ShopParts {
  readonly store: ShopStore;
  readonly events: EventFeed;
  readonly settings: ShopSettings;
}

export function shopServices({ store, events, settings }: ShopParts): readonly Implementation[] {
  return [
    implement<BoatServiceServer>(BoatServiceService, boatService(store)),
    implement<EventServiceServer>(EventServiceService, eventService(events, resourceOf)),
    implement<InspectionServiceServer>(InspectionServiceService, inspectionService(store)),
    implement<RentalServiceServer>(RentalServiceService, rentalService(store, settings)),
  ];
}
