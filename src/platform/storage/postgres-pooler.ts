/** Finds out whether a pooler gives one session of the server to several connections in turn. */
import { apart, type PostgresClient } from './postgres-client.ts';

/**
 * True for PgBouncer in transaction mode: a free session goes to whoever asks next, or the connection that had it gets
 * another one. False where none can be reached, or a connection waits for a session of its own.
 */
export async function sharesSessions(url: string): Promise<boolean> {
  const processOf = async (client: PostgresClient) =>
    (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid;
  const compare = async (one: PostgresClient, other: PostgresClient) => {
    const [first, second] = [await processOf(one), await processOf(other)];
    return first === second || first !== (await processOf(one));
  };
  return apart(url, (one) => apart(url, (other) => compare(one, other))).catch(() => false);
}
