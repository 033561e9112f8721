/**
 * Tells all servers over a Redis channel that a key or an account has changed, so that their caches are outdated for no
 * longer than the message takes. `unban:3:1795249320000` says that the operator has ended those bans of a key that
 * would have ended by then. Any other message means that something has changed.
 *
 * Failure: without Redis a server notices a change when the entry in its cache expires (`api-key-cache.ts`). Publishing
 * neither fails nor waits. Messages may be missed without a connection, so a new connection counts as a change.
 */
import type { RedisConfig } from '../config.ts';
import type { Ban } from '../limits/limiter.ts';
import { toKeyId } from '../model.ts';
import { RedisClient } from '../redis/client.ts';

const CHANNEL = 'petstore:keys';

export interface KeyInvalidation {
  /** Tells all servers of a change, this one included. */
  publish(): void;
  /** Tells all servers that a ban was ended, this one included. */
  publishUnban(ended: Ban): void;
  close(): void;
}

/** `onChange` and `onUnban` are called for this server's own messages, too. */
export function createKeyInvalidation(
  redis: RedisConfig,
  onChange: () => void,
  onUnban: (ended: Ban) => void,
): KeyInvalidation {
  const client = new RedisClient(redis);
  const publish = (message: string) => void client.publish(CHANNEL, message).catch(() => undefined);
  const onMessage = (message: string) => {
    const [, keyId, untilMs] = /^unban:(\d{1,19}):(\d{1,15})$/.exec(message) ?? [];
    if (keyId === undefined) onChange();
    else onUnban({ keyId: toKeyId(BigInt(keyId)), untilMs: Number(untilMs) });
  };
  client.subscribe(CHANNEL, onMessage, onChange);
  return {
    publish: () => publish('changed'),
    publishUnban: ({ keyId, untilMs }) => publish(`unban:${keyId}:${untilMs}`),
    close: () => client.close(),
  };
}
