/**
 * Server-sent events (HTML Standard, section 9.2). A message of a feed has either an `event`, with `id` and `type`, or
 * a `checkpoint`, with `id`. The first message is a checkpoint: it becomes the event `ready`. The others become
 * comments, with their id: a browser that reconnects goes on there.
 */
import { Readable } from 'node:stream';
import type { DescMessage } from '@bufbuild/protobuf';
import { isHead } from '../../edge-headers.ts';
import { invalidArgument } from '../../errors.ts';
import type { Call, HttpResponse, Next, Response } from '../../rpc/chain.ts';
import { jsonWriter, onOneLine } from './json.ts';

/** When a browser whose connection is lost opens another. */
const RETRY_MS = 2_000;

export const EVENT_STREAM: HttpResponse = {
  status: 200,
  // So that no proxy on the way compresses the stream, or waits for more of it (nginx).
  headers: {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  },
  body: '',
};

interface Message {
  readonly event?: { readonly id: bigint; readonly type: string };
  readonly checkpoint?: { readonly id: bigint };
}

/** Compiles a writer of the messages of this type. */
export function eventStream({ typeName, fields }: DescMessage): (call: Call, message: unknown) => Buffer {
  const type = fields.find(({ name }) => name === 'event')?.message;
  if (type === undefined) throw new Error(`${typeName} has no event`);
  const write = jsonWriter(type);
  const begun = new WeakSet<Call>();
  return (call, message) => {
    if (isHead(call)) return Buffer.alloc(0);
    const { event, checkpoint } = message as Message;
    if (event !== undefined) {
      return Buffer.from(`id: ${event.id}\nevent: ${event.type}\ndata: ${onOneLine(write(event))}\n\n`);
    }
    const id = `id: ${checkpoint?.id}`;
    if (begun.has(call)) return Buffer.from(`: nothing new\n${id}\n\n`);
    begun.add(call);
    return Buffer.from(`retry: ${RETRY_MS}\nevent: ready\n${id}\ndata: {}\n\n`);
  };
}

/** A feed goes on after Last-Event-ID (server-sent events, HTML Standard, section 9.2.3). HEAD has headers only. */
export async function resume(call: Call, next: Next): Promise<Response> {
  const lastId = call.header('last-event-id')?.trim();
  if (lastId) {
    if (!/^\d{1,19}$/.test(lastId)) {
      const description = `"${lastId}" is no id of an event`;
      throw invalidArgument([{ path: 'last-event-id', name: 'Last-Event-ID', description }]);
    }
    call.resumeAfter = BigInt(lastId);
  }
  const response = await next(call);
  return isHead(call) && 'messages' in response ? { messages: Readable.from(response.messages).take(1) } : response;
}
