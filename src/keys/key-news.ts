/**
 * Tells every server that a key or an account has changed, so that none believes its cache for longer than the news
 * takes. The news goes over a Redis channel and says only that there is some.
 *
 * Failure: without Redis a change is noticed when the cache's entries are due (`key-ring.ts`). Nothing here fails for
 * its caller or waits. What may have been missed is made up for: a connection that is new makes the server forget.
 */
import type { RedisConfig } from '../config.ts';
import { RedisLink } from '../redis/link.ts';

const CHANNEL = 'petstore:keys';

export interface KeyNews {
  /** Tells all servers, this one among them. */
  publish(): void;
  close(): Promise<void>;
}

/** `onNews` is called for this server's own changes too. */
export function createKeyNews(redis: RedisConfig, onNews: () => void): KeyNews {
  const link = new RedisLink({
    redis,
    async prepare(connection, takeUp) {
      await connection.subscribe(CHANNEL, onNews);
      onNews();
      takeUp();
    },
  });
  void link.start();
  return {
    publish() {
      const { connection } = link;
      connection?.publish(CHANNEL, '').catch((error: unknown) => connection.lose(error));
    },
    close: () => link.close(),
  };
}
