/** Makes the typed client of any services. gen/client/index.ts has them, and is what a package publishes. */
import { type ConnectionOptions, connect } from './connection.ts';
import { type EventsOptions, type FeedMethod, follow } from './events.ts';
import type { Definition, Methods } from './methods.ts';

type Definitions = Readonly<Record<string, Definition>>;

/** The services. Every method resolves with the response message or rejects with a CallError. */
export type Client<D extends Definitions, Event> = { readonly [Name in keyof D]: Methods<D[Name]> } & Feed<Event>;

interface Feed<Event> {
  /**
   * What changes, without end: `for await (const event of client.events({ after }))`. A lost connection is opened
   * again, and no event is skipped or repeated. Store the id of the last event that you have dealt with: it is the
   * `after` of the next start.
   *
   * @throws CallError `EVENTS_EXPIRED` when what followed `after` is not kept any more, and
   * `EVENT_NOT_REACHED` when the feed is older than `after`, as after a restored backup: read the lists again.
   */
  events(options?: EventsOptions): AsyncGenerator<Event, void, undefined>;
  /**
   * Closes the connection after the calls in flight have ended. Calls that wait to be sent fail with CANCELLED, and so
   * do iterations of `events`.
   */
  close(): Promise<void>;
}

export function clientOf<D extends Definitions, Event extends { readonly id: bigint }>(
  definitions: D,
  feed: FeedMethod<Event>,
  options: ConnectionOptions,
): Client<D, Event> {
  const connection = connect(options);
  const services = Object.entries(definitions).map(([name, definition]) => [name, connection.service(definition)]);
  return {
    ...Object.fromEntries(services),
    events: (options = {}) => follow(connection, feed, options),
    close: () => connection.close(),
  };
}
