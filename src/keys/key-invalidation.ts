/**
 * Tells all servers which key or account has changed, over a Redis channel, so that their caches are outdated for no
 * longer than the message takes. A message has only the id of what has changed: `key:3`, `account:7`. Any other
 * message, such as one of another release, means that anything may have changed. `unban:3:1795249320000` says that the
 * operator has ended those bans of a key that would have ended by then.
 *
 * Failure: without Redis a server notices a change when the entry in its cache expires (`api-key-cache.ts`). Publishing
 * neither fails nor waits. Messages may be missed without a connection, so a new connection invalidates everything.
 */
import type { RedisConfig } from '../config.ts';
import type { Ban } from '../limits/limiter.ts';
import { toKeyId } from '../model.ts';
import { RedisClient } from '../redis/client.ts';
import type { KeyChange } from './api-key-cache.ts';

const CHANNEL = 'petstore:keys';

export interface KeyInvalidation {
  /** Tells all servers of a change, this one included. */
  publish(change: KeyChange): void;
  /** Tells all servers that a ban was ended, this one included. */
  publishUnban(ended: Ban): void;
  close(): void;
}

/** `onChange` and `onUnban` are called for this server's own messages, too. */
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
      if (ended === undefined) onChange(decodeChange(message));
      else onUnban(ended);
    },
    () => onChange({ kind: 'any' }),
  );
  return {
    publish: (change) => publish(encodeChange(change)),
    publishUnban: ({ keyId, untilMs }) => publish(`unban:${keyId}:${untilMs}`),
    close: () => client.close(),
  };
}

function encodeChange(change: KeyChange): string {
  return change.kind === 'any' ? change.kind : `${change.kind}:${change.id}`;
}

function decodeChange(message: string): KeyChange {
  const [, kind, id = ''] = /^(key|account):(\d{1,19})$/.exec(message) ?? [];
  return kind === 'key' || kind === 'account' ? { kind, id: BigInt(id) } : { kind: 'any' };
}

function decodeUnban(message: string): Ban | undefined {
  const [, keyId, untilMs] = /^unban:(\d{1,19}):(\d{1,15})$/.exec(message) ?? [];
  return keyId === undefined ? undefined : { keyId: toKeyId(BigInt(keyId)), untilMs: Number(untilMs) };
}
