/**
 * Tells all servers over a Redis channel that keys or accounts have changed, so that their caches are outdated for no
 * longer than the message takes.
 *
 * Failure: without Redis a server notices a change when the entry in its cache expires (`api-key-cache.ts`). Publishing
 * neither fails nor waits. Messages may be missed without a connection, so a new connection counts as a change.
 */
import { ErrorReply } from '@redis/client';
import type { Logger } from 'pino';
import type { RedisConfig } from '../config.ts';
import { RedisClient } from '../redis/client.ts';

const CHANNEL = 'petstore:keys';

export interface KeyInvalidation {
  /** Tells all servers that a key or an account has changed, this one included. */
  publish(): void;
  close(): void;
}

export interface KeyInvalidationOptions {
  readonly redis: RedisConfig;
  readonly logger: Pick<Logger, 'warn'>;
  /** Called for each message, this server's own included, and for each new connection. */
  readonly onChange: () => void;
}

export function createKeyInvalidation({ redis, logger, onChange }: KeyInvalidationOptions): KeyInvalidation {
  const client = new RedisClient(redis);
  let isRefused = false;
  // The limiter reports an unavailable Redis. One that refuses only this client, only this client sees.
  client.onError = (error) => {
    if (!(error instanceof ErrorReply) || isRefused) return;
    isRefused = true;
    logger.warn({ cause: client.describe(error) }, `Redis refuses the channel ${CHANNEL}: changed keys take seconds`);
  };
  client.subscribe(CHANNEL, onChange, () => {
    isRefused = false;
    onChange();
  });
  return {
    publish: () => void client.publish(CHANNEL, 'changed').catch(() => undefined),
    close: () => client.close(),
  };
}
