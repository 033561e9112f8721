/** The methods of a shop's EventService, whose messages are those of any shop but for the resources of an event. */
import type { Call } from '../rpc/chain.ts';
import { DEFAULT_LIMIT } from '../rpc/page-token.ts';
import { SharedMessages } from '../rpc/shared-messages.ts';
import type { Row } from '../storage/statement.ts';
import { toTimestamp } from '../tables/fields.ts';
import type { Owner } from '../tables/ids.ts';
import type { EventFeed, Following, Progress } from './feed.ts';
import { parseRow, START, type StoredEvent, toEventId } from './stored-event.ts';

interface Selection {
  readonly after?: bigint | undefined;
  readonly lastEventId?: bigint | undefined;
  readonly types: readonly string[];
  readonly limit?: number | undefined;
}

/** `resourceOf` makes the resources of an event's message from its type and the stored columns. */
export function eventService<Resource>(feed: EventFeed, resourceOf: (type: string, columns: Row) => Resource) {
  const toMessage = ({ id, type, timeMs, row }: StoredEvent) => ({
    id,
    type,
    time: toTimestamp(timeMs),
    ...resourceOf(type, parseRow(row) as Row),
  });

  /** Streams that send the same event send the same message, which is encoded once. */
  const messages = new WeakMap<StoredEvent, { event: ReturnType<typeof toMessage> }>();

  const toShared = (event: StoredEvent) => {
    const message = messages.get(event) ?? { event: toMessage(event) };
    messages.set(event, message);
    return message;
  };

  const toMessages = (progress: Progress) => {
    const { events, upTo } = progress;
    progress.events = [];
    return events.length === 0 ? { checkpoint: { id: upTo } } : new SharedMessages(events.map(toShared));
  };

  return {
    async listEvents({ after = START, types, limit = DEFAULT_LIMIT }: Selection, call: Owner) {
      const page = await feed.page(call, toEventId(after), types, limit);
      return { events: page.events.map(toMessage), nextAfter: page.next ?? 0n };
    },

    async *watchEvents({ after, lastEventId = after, types }: Selection, call: Following & Pick<Call, 'resumeAfter'>) {
      const from = call.resumeAfter ?? lastEventId;
      const begin = from === undefined ? undefined : toEventId(from);
      for await (const progress of feed.follow(call, begin, types)) yield toMessages(progress);
    },
  };
}
