/**
 * Tells every server which key or account has changed, over a Redis channel, so that none believes its cache for longer
 * than the message takes. A message names what has changed and says nothing else of it: `key:3`, `account:7`. Any other
 * message, such as an older release sends, means that anything may have.
 *
 * Failure: without Redis a change is noticed when the cache's entries are due (`api-key-cache.ts`). Nothing here fails
 * for its caller or waits. What may have been missed is made up for: a connection that is new invalidates everything.
 */
import type { RedisConfig } from '../config.ts';
import { RedisClient } from '../redis/client.ts';
import type { KeyChange } from './api-key-cache.ts';

const CHANNEL = 'petstore:keys';

export interface KeyInvalidation {
  /** Tells all servers, this one among them. */
  publish(change: KeyChange): void;
  close(): void;
}

/** `onChange` is called for this server's own changes too. */
export function createKeyInvalidation(redis: RedisConfig, onChange: (change: KeyChange) => void): KeyInvalidation {
  const client = new RedisClient(redis);
  client.subscribe(
    CHANNEL,
    (message) => onChange(decode(message)),
    () => onChange({ kind: 'any' }),
  );
  return {
    publish(change) {
      client.publish(CHANNEL, encode(change)).catch(() => undefined);
    },
    close: () => client.close(),
  };
}

function encode(change: KeyChange): string {
  return change.kind === 'any' ? change.kind : `${change.kind}:${change.id}`;
}

function decode(message: string): KeyChange {
  const [, kind, id = ''] = /^(key|account):(\d{1,19})$/.exec(message) ?? [];
  return kind === 'key' || kind === 'account' ? { kind, id: BigInt(id) } : { kind: 'any' };
}
