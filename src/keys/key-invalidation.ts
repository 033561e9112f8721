/**
 * Tells every server which key or account has changed, over a Redis channel, so that none believes its cache for longer
 * than the message takes. A message names what has changed and says nothing else of it: `key:3`, `account:7`. Any other
 * message, such as another release sends, means that anything may have. `unban:3:1795249320000` says that the operator
 * has ended those bans of a key that would end by then.
 *
 * Failure: without Redis a change is noticed when the cache's entries are due (`api-key-cache.ts`). Nothing here fails
 * for its caller or waits. What may have been missed is made up for: a connection that is new invalidates everything.
 */
import type { RedisConfig } from '../config.ts';
import type { Ban } from '../limits/limiter.ts';
import { RedisClient } from '../redis/client.ts';
import type { KeyChange } from './api-key-cache.ts';

const CHANNEL = 'petstore:keys';

export interface KeyInvalidation {
  /** Tells all servers, this one among them. */
  publish(change: KeyChange): void;
  /** Tells all servers of the end of a ban. */
  publishUnban(ended: Ban): void;
  close(): void;
}

/** `onChange` and `onUnban` are called for this server's own messages too. */
export function createKeyInvalidation(
  redis: RedisConfig,
  onChange: (change: KeyChange) => void,
  onUnban: (ended: Ban) => void,
): KeyInvalidation {
  const client = new RedisClient(redis);
  const publish = (message: string) => void client.publish(CHANNEL, message).catch(() => undefined);
  client.subscribe(
    CHANNEL,
    (message) => {
      const ended = decodeUnban(message);
      if (ended === undefined) onChange(decode(message));
      else onUnban(ended);
    },
    () => onChange({ kind: 'any' }),
  );
  return {
    publish: (change) => publish(encode(change)),
    publishUnban: ({ key, untilMs }) => publish(`unban:${key}:${untilMs}`),
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

function decodeUnban(message: string): Ban | undefined {
  const [, key, untilMs] = /^unban:(\d{1,19}):(\d{1,15})$/.exec(message) ?? [];
  return key === undefined ? undefined : { key, untilMs: Number(untilMs) };
}
