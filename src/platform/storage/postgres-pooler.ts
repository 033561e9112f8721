/** Finds out whether a pooler gives one session of the server to several connections in turn. */
import { clientApart, type PostgresClient } from './postgres-client.ts';

const ROUNDS = 3;

/**
 * True for PgBouncer in transaction mode. Two connections then share a session, since both are free in between. A
 * pooler gives a connection another number than the process of its session has.
 */
export async function sharesSessions(url: string): Promise<boolean> {
  const clients = [clientApart(url), clientApart(url)] as const;
  const processOf = async (client: PostgresClient) =>
    Number((await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid);
  try {
    const [one, other] = clients;
    await one.connect();
    if ((await processOf(one)) === one.backend) return false;
    await other.connect();
    for (let round = 0; round < ROUNDS; round += 1) {
      if ((await processOf(one)) === (await processOf(other))) return true;
    }
    return false;
  } catch {
    return false; // it can't be reached, or each connection waits for a session of its own
  } finally {
    for (const client of clients) void client.end().catch(() => undefined);
  }
}
