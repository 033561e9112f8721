/**
 * The pet store's typed gRPC client: `import { createClient } from 'petstore-client'`. See docs/client.md, its README.
 *
 * Messages are those of the proto files as ts-proto generates them: `bigint` for int64, fields in camelCase.
 */
import { SERVICES } from '../../../gen/client/services.ts';
import type { Event } from '../../../gen/petstore/v1/events.ts';
import type { NewPet as NewPetMessage } from '../../../gen/petstore/v1/pets.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { type EventsOptions, follow } from './events.ts';
import type { Input, Methods } from './methods.ts';

export type { Category } from '../../../gen/petstore/v1/categories.ts';
export type { Event } from '../../../gen/petstore/v1/events.ts';
export type { InventoryItem } from '../../../gen/petstore/v1/inventory.ts';
export type { Order } from '../../../gen/petstore/v1/orders.ts';
export { type Pet, PetStatus } from '../../../gen/petstore/v1/pets.ts';
export type { ConnectionOptions as ClientOptions } from './connection.ts';
export { etagOf } from './etags.ts';
export type { EventsOptions } from './events.ts';
export type { CallOptions, CreateOptions, WriteOptions } from './methods.ts';
export { pages } from './pages.ts';
export { type FieldViolation, PetstoreError } from './petstore-error.ts';
export type { TlsOptions } from './tls.ts';

/** A pet as `createPet` and `replacePet` take it. */
export type NewPet = Input<NewPetMessage>;

type Services = { readonly [Name in keyof typeof SERVICES]: Methods<(typeof SERVICES)[Name]> };

/**
 * The services. Every method takes a request message and options, and resolves with the response message or
 * rejects with a PetstoreError.
 */
export interface PetstoreClient extends Services {
  /**
   * What changes, without end: `for await (const event of client.events({ after }))`. A lost connection is opened
   * again, and no event is skipped or repeated. Store the id of the last event that you have dealt with: it is the
   * `after` of the next start.
   *
   * @throws PetstoreError `EVENTS_EXPIRED` when what followed `after` is not kept any more, and
   * `EVENT_NOT_REACHED` when the feed is older than `after`, as after a restored backup: read the lists again.
   */
  events(options?: EventsOptions): AsyncGenerator<Event, void, undefined>;
  /**
   * Closes the connection after the calls in flight have ended. Calls that wait to be sent fail with CANCELLED, and so
   * do iterations of `events`.
   */
  close(): Promise<void>;
}

/**
 * A client of the server at `address`, with an account's API key. It connects with the first call. Use one per
 * process: its calls share a connection, and stay within the account's limits together.
 */
export function createClient(options: ConnectionOptions): PetstoreClient {
  const connection = connect(options);
  const services = Object.entries(SERVICES).map(([name, definition]) => [name, connection.service(definition)]);
  return {
    ...(Object.fromEntries(services) as Services),
    events: (options = {}) => follow(connection, options),
    close: () => connection.close(),
  };
}
