/** Events as they are stored. */
import type { Id, OwnerId } from '../tables/ids.ts';
import type { PageRequest } from '../tables/sort-order.ts';

export type EventId = Id<'event'>;
export const toEventId = (id: bigint) => id as EventId;
/** Before the first event. */
export const START = toEventId(0n);

/** The owner of the events that all accounts may see. */
export const EVERYBODY = 0n as OwnerId;

/** An event as it is stored: one change of one row. */
export interface StoredEvent {
  readonly id: EventId;
  /** What changed, and how: `thing.created`. */
  readonly type: string;
  readonly timeMs: number;
  /** The account that the row belongs to, or everybody. */
  readonly owner: OwnerId;
  /** The row after the change, or before its deletion, as a JSON object. */
  readonly row: string;
}

/** One that has been looked at: without a row if it is of another type. */
export type SeenEvent = Omit<StoredEvent, 'row'> & Partial<StoredEvent>;

export const isRead = (event: SeenEvent): event is StoredEvent => event.row !== undefined;

/** Asks for events after an id. */
export interface EventRequest extends PageRequest {
  readonly after: EventId;
  /** Of these types, or all. Only a bounded number of events is looked at. */
  readonly types?: readonly string[];
  /** For this account: its own events, and those for all. Without it all are read. */
  readonly owner?: OwnerId | undefined;
}

/** Parses a row. An integer beyond 2^53 stays a text. That costs more, so it is done where there may be one. */
export function parseRow(json: string): unknown {
  if (!/\d{16}/.test(json)) return JSON.parse(json);
  return JSON.parse(json, (_, value, { source }: { source?: string } = {}) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? '') ? source : value,
  );
}
