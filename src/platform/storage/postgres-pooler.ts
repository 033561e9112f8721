/** Finds out whether a pooler gives one session of the server to several connections in turn. */
import { apart, type PostgresClient } from './postgres-client.ts';

const ROUNDS = 3;

/**
 * True for PgBouncer in transaction mode. Two connections then share a session, since both are free in between. A
 * pooler gives a connection another number than the process of its session has. False where one can't be reached, or
 * waits for a session of its own.
 */
export async function sharesSessions(url: string): Promise<boolean> {
  const processOf = async (client: PostgresClient) =>
    Number((await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid);
  const compare = async (one: PostgresClient, other: PostgresClient) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      if ((await processOf(one)) === (await processOf(other))) return true;
    }
    return false;
  };
  return apart(url, async (one) => {
    if ((await processOf(one)) === one.backend) return false;
    return apart(url, (other) => compare(one, other));
  }).catch(() => false);
}
