/**
 * Readers of events: server-sent ones over a raw connection, so that tests see what was sent, as described; and
 * EventService.WatchEvents, as grpc-js shows it.
 */
import { Client, type ServiceError } from '@grpc/grpc-js';
import { EventServiceService as Events, type WatchEventsResponse } from '../../../gen/petstore/v1/events.ts';
import { checkEventAgainstDescription } from '../contract/description.ts';
import { bearer, insecure, stream } from './grpc.ts';

export type EventSource = Awaited<ReturnType<typeof openEvents>>;

export async function openEvents(
  url: string,
  key: string,
  headers: Readonly<Record<string, string>> = {},
  ended = new AbortController().signal,
) {
  const abort = new AbortController();
  const signal = AbortSignal.any([abort.signal, ended]);
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}`, ...headers }, signal });
  let reader: AsyncIterator<string> | undefined;
  const chunk = () => {
    const body = response.body ?? new ReadableStream<Uint8Array>();
    reader ??= body.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
    return reader.next();
  };
  return { response, ...readEvents(chunk), close: () => abort.abort() };
}

/** As Python's `splitlines` has it, by which clients there read; the standard has fewer. */
const LINE_ENDS = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;

export function readEvents(chunk: () => Promise<IteratorResult<string>>) {
  let buffer = '';
  const next = async () => {
    for (let end = buffer.indexOf('\n\n'); end === -1; end = buffer.indexOf('\n\n')) {
      const { value, done } = await chunk();
      if (done === true) {
        if (buffer !== '') throw new Error(`the stream ended amid an event: ${buffer}`);
        return undefined;
      }
      buffer += value;
    }
    const end = buffer.indexOf('\n\n');
    const lines = buffer.slice(0, end).split(LINE_ENDS);
    buffer = buffer.slice(end + 2);
    const field = (name: string) =>
      lines
        .find((line) => line.startsWith(`${name}:`))
        ?.slice(name.length + 1)
        .trim();
    const text = field('data');
    const data = text === undefined ? undefined : JSON.parse(text);
    if (data !== undefined) checkEventAgainstDescription(data);
    return { id: field('id'), event: field('event'), data, comment: field(''), retry: field('retry') };
  };
  return {
    /** The next event or comment; undefined at a clean end. Rejects when the connection breaks. */
    next,
    async take(count: number) {
      const events: NonNullable<Awaited<ReturnType<typeof next>>>[] = [];
      while (events.length < count) {
        const event = await next();
        if (event === undefined) throw new Error('the stream has ended');
        if (event.data !== undefined && event.event !== 'ready') events.push(event);
      }
      return events;
    },
  };
}

interface Watched {
  readonly after?: bigint;
  readonly timeoutMs?: number;
  readonly onMessage?: (message: WatchEventsResponse) => void;
}

export function watchEvents(address: string, key: string, { after, timeoutMs, onMessage }: Watched = {}) {
  const client = new Client(address, insecure);
  const options = timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
  const ids: number[] = [];
  const call = stream(client, Events.watchEvents, after === undefined ? {} : { after }, bearer(key), options).on(
    'data',
    (message: WatchEventsResponse) => {
      if (message.event !== undefined) ids.push(Number(message.event.id));
      onMessage?.(message);
    },
  );
  /** Resolves with the error that ends the stream; undefined at a clean end. */
  const ended = new Promise<ServiceError | undefined>((resolve) => {
    call.on('error', (error: ServiceError) => resolve(error)).on('end', () => resolve(undefined));
  }).finally(() => client.close());
  return { ids, ended, close: () => call.cancel() };
}
