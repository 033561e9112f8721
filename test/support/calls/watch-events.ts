/** EventService.WatchEvents, as grpc-js shows it. */
import { Client, type ServiceError } from '@grpc/grpc-js';
import { EventServiceService as Events, type WatchEventsResponse } from '../../../gen/petstore/v1/events.ts';
import { bearer, insecure, stream } from './grpc.ts';

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
