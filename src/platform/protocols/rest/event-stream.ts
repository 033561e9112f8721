/**
 * Server-sent events (HTML Standard, section 9.2). A message has either an `event` or a `checkpoint`. The first one, a
 * checkpoint, becomes the event `ready`; the others comments with their id: a browser that reconnects goes on there.
 */
import type { DescMessage } from '@bufbuild/protobuf';
import { invalidArgument } from '../../errors.ts';
import type { Call, StreamStart } from '../../rpc/chain.ts';
import { jsonWriter, onOneLine } from './json.ts';

/** When a browser whose connection is lost opens another. */
const RETRY_MS = 2_000;

const START = {
  status: 200,
  // So that no proxy on the way compresses the stream, or waits for more of it (nginx).
  headers: {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  },
};

interface Message {
  readonly event?: { readonly id: bigint; readonly type: string };
  readonly checkpoint?: { readonly id: bigint };
}

/** Compiles the start of a stream, and a writer of its messages, which are of this type. */
export function eventStream({ typeName, fields }: DescMessage) {
  const type = fields.find(({ name }) => name === 'event')?.message;
  if (type === undefined) throw new Error(`${typeName} has no event`);
  const write = jsonWriter(type);
  return {
    begin(first: unknown): StreamStart {
      const { checkpoint } = (first ?? {}) as Message;
      const ready = checkpoint && `retry: ${RETRY_MS}\nevent: ready\nid: ${checkpoint.id}\ndata: {}\n\n`;
      return { ...START, body: Buffer.from(ready ?? '') };
    },
    piece(message: unknown): Buffer {
      const { event, checkpoint } = message as Message;
      if (event === undefined) return Buffer.from(`: nothing new\nid: ${checkpoint?.id}\n\n`);
      return Buffer.from(`id: ${event.id}\nevent: ${event.type}\ndata: ${onOneLine(write(event))}\n\n`);
    },
  };
}

/** Where a stream goes on: Last-Event-ID (server-sent events, HTML Standard, section 9.2.3). */
export function lastEventId(call: Pick<Call, 'header'>): bigint | undefined {
  const lastId = call.header('last-event-id')?.trim();
  if (!lastId) return undefined;
  if (/^\d{1,19}$/.test(lastId)) return BigInt(lastId);
  const description = `"${lastId}" is no id of an event`;
  throw invalidArgument([{ path: 'last-event-id', name: 'Last-Event-ID', description }]);
}
