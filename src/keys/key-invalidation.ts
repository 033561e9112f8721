/**
 * Tells all servers over a Redis channel that keys or accounts have changed, so that their caches are outdated for no
 * longer than the message takes. `unban:3:1795249320000` says instead that the operator has ended those bans of a key
 * that would have ended by then.
 *
 * Failure: without Redis a server notices a change when the entry in its cache expires (`api-key-cache.ts`). Publishing
 * neither fails nor waits. Messages may be missed without a connection, so a new connection counts as a change.
 */
import { ErrorReply } from '@redis/client';
import type { Logger } from 'pino';
import type { RedisConfig } from '../config.ts';
import { type KeyId, toKeyId } from '../model.ts';
import { RedisClient } from '../redis/client.ts';

const CHANNEL = 'petstore:keys';
const CHANGED = 'changed';

export interface KeyInvalidation {
  /** Tells all servers that a key or an account has changed, this one included. */
  publish(): void;
  /** Tells all servers that a ban was ended, this one included. */
  publishUnban(keyId: KeyId, untilMs: number): void;
  close(): void;
}

export interface KeyInvalidationOptions {
  readonly redis: RedisConfig;
  readonly logger: Pick<Logger, 'warn'>;
  /** Called for each message, this server's own included, and for each new connection. */
  readonly onChange: () => void;
  readonly onUnban: (keyId: KeyId, untilMs: number) => void;
}

export function createKeyInvalidation({ redis, logger, onChange, onUnban }: KeyInvalidationOptions): KeyInvalidation {
  const client = new RedisClient(redis);
  const publish = (message: string) => void client.publish(CHANNEL, message).catch(() => undefined);
  let isRefused = false;
  // The limiter reports an unavailable Redis. One that refuses only this client, only this client sees.
  client.onError = (error) => {
    if (!(error instanceof ErrorReply) || isRefused) return;
    isRefused = true;
    logger.warn({ cause: client.describe(error) }, `Redis refuses the channel ${CHANNEL}: changed keys take seconds`);
  };
  client.subscribe(
    CHANNEL,
    (message) => {
      const [, keyId, untilMs] = /^unban:(\d{1,19}):(\d{1,15})$/.exec(message) ?? [];
      if (keyId === undefined) onChange();
      else onUnban(toKeyId(BigInt(keyId)), Number(untilMs));
    },
    () => {
      isRefused = false;
      onChange();
    },
  );
  return {
    publish: () => publish(CHANGED),
    publishUnban: (keyId, untilMs) => publish(`unban:${keyId}:${untilMs}`),
    close: () => client.close(),
  };
}
