/** Follows the feed of events, and goes on by itself after a lost connection. */
import { setTimeout as delay } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { CallError } from './call-error.ts';
import type { Connection } from './connection.ts';
import type { MethodOf } from './methods.ts';

/** The delays before a stream is opened again: 0.2 s, twice as long after each failure, and 0 to 50 % more. */
const FIRST_DELAY_MS = 200;
const MAX_DELAY_MS = 10_000;

/** With any other status the stream ends: the same request would fail again. */
const PASSING = [
  ...[status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.RESOURCE_EXHAUSTED],
  ...[status.CANCELLED, status.INTERNAL, status.UNKNOWN], // a connection that broke amid the stream
];

/** A stream that sends events, and between them ids up to which there are no others. */
export type FeedMethod<Event> = MethodOf<
  string,
  { after?: bigint | undefined; types: string[] },
  { readonly event?: Event | undefined; readonly checkpoint?: { readonly id: bigint } | undefined }
>;

export type EventOf<Feed> = Feed extends FeedMethod<infer Event> ? Event : never;

export interface EventsOptions {
  /** The id of the last event, or checkpoint, that you have: what followed comes first. Default: begin now. */
  readonly after?: bigint | undefined;
  /** Only events of these types, such as `order.created`. Default: all. */
  readonly types?: readonly string[];
  /** Ends the stream when it aborts; the iteration then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Called with an id up to which you have got everything: at the start, and every 15 s without an event. Store it like
   * the id of an event. With `types` it may be well ahead of the last event.
   */
  readonly onCheckpoint?: (id: bigint) => void;
}

/** Each event once, in ascending order of id, without end. Throws what a retry does not mend, as client.ts says. */
export async function* follow<Event extends { readonly id: bigint }>(
  { stream, closing }: Connection,
  method: FeedMethod<Event>,
  { after, types = [], onCheckpoint, signal: aborted }: EventsOptions,
): AsyncGenerator<Event, void, undefined> {
  const signal = aborted === undefined ? closing : AbortSignal.any([closing, aborted]);
  for (let failures = 0; ; failures += 1) {
    let retryAfterMs = 0;
    try {
      const messages = stream(method, { after, types: [...types] }, signal);
      for await (const { event, checkpoint } of messages) {
        failures = 0;
        after = event?.id ?? checkpoint?.id ?? after;
        if (event !== undefined) yield event;
        else if (checkpoint !== undefined) onCheckpoint?.(checkpoint.id);
      }
    } catch (error) {
      if (signal.aborted || !(error instanceof CallError) || !PASSING.includes(error.grpcStatus)) throw error;
      retryAfterMs = error.retryAfterMs ?? 0;
    }
    const backoffMs = Math.min(FIRST_DELAY_MS * 2 ** failures, MAX_DELAY_MS) * (1 + Math.random() / 2);
    await delay(Math.max(backoffMs, retryAfterMs), undefined, { signal }).catch(() => undefined);
    signal.throwIfAborted();
  }
}
