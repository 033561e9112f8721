/**
 * pg's client, and all that is used of its private parts.
 *
 * A server or a proxy may break the protocol. pg's parser throws then, in a listener, which would end this process; or
 * it reads for ever, as it takes the end of its bytes for empty texts. Here the connection ends.
 */
import type { Duplex } from 'node:stream';
import { Client, type ClientConfig, type QueryConfig, type QueryResult } from 'pg';
import { BufferReader } from 'pg-protocol/dist/buffer-reader.js';
import { NAME } from '../../identity.ts';

/** How long a client apart from the pools waits for its connection, and for each response. */
const APART_MS = 2_000;
/** How long the server may take to close a connection. pg's pool waits for it where a session could not begin. */
const END_MS = 1_000;
/** A process is active from a parse or bind on. If the execution is lost on the way, it waits for that without end. */
const AT_WORK = `SELECT pid FROM pg_stat_activity WHERE pid = ANY ($1)
  AND (state = 'active' AND wait_event IS DISTINCT FROM 'ClientRead' OR state_change > now() - interval '5 s')`;

interface Reader {
  readonly buffer: Buffer;
  readonly offset: number;
  string(length: number): string;
}

const reader = BufferReader.prototype as unknown as Reader;
const { string } = reader;
reader.string = function checked(this: Reader, length) {
  if (this.offset + length > this.buffer.length) throw new RangeError('a message ends within a text');
  return string.call(this, length);
};

/** What pg's types lack. */
interface Wire {
  attachListeners(stream: Pick<Duplex, 'on'>): void;
  end(): void;
}

/**
 * A command without parameters. If it has a name, the session has prepared it, and it returns no rows. One without is
 * parsed, which pg would take for the parsing of a query with a name behind it: that may be skipped.
 */
export type Command = Pick<QueryConfig, 'name' | 'text'>;

export class PostgresClient extends Client {
  /** The process of the server that the session has, or had last. PgBouncer gives another number first. */
  declare processID: number;

  constructor(config?: ClientConfig) {
    super(config);
    const wire = this.connection as unknown as Wire;
    const attach = wire.attachListeners.bind(wire);
    wire.attachListeners = (stream) => attach(guarded(stream as Duplex));
    const end = wire.end.bind(wire);
    wire.end = () => {
      end();
      setTimeout(() => this.connection.stream.destroy(), END_MS).unref();
    };
  }

  /** Sends all up to one Sync: what is behind a failure is skipped. No other query may be in progress. */
  async queryBehind(commands: readonly Command[], query: QueryConfig): Promise<readonly QueryResult[]> {
    const { connection } = this;
    connection.stream.cork();
    for (const { name = '', text } of commands) {
      if (name === '') connection.parse({ name, text, types: [] }, true);
      connection.bind({ statement: name }, true);
      if (name === '') connection.describe({ type: 'P' }, true); // it may return rows
      connection.execute({}, true);
    }
    const results = this.query(query) as Promise<unknown> as Promise<readonly QueryResult[]>;
    connection.stream.uncork();
    return await results;
  }
}

/** Does something with a client apart from the pools. */
async function apart<T>(url: string, work: (client: PostgresClient) => Promise<T>, timeoutMs = APART_MS): Promise<T> {
  const timeouts = { connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs };
  const client = new PostgresClient({ connectionString: url, application_name: NAME, ...timeouts });
  client.on('error', () => undefined); // the work learns of it
  try {
    await client.connect();
    return await work(client);
  } finally {
    void client.end().catch(() => undefined);
  }
}

/** Those of these processes of the server that are at work for their sessions, or were a moment ago. */
export async function atWork(
  url: string,
  processes: readonly number[],
  timeoutMs?: number,
): Promise<ReadonlySet<number>> {
  const { rows } = await apart(url, (client) => client.query<{ pid: number }>(AT_WORK, [processes]), timeoutMs);
  return new Set(rows.map(({ pid }) => pid));
}

/** Whether PgBouncer in transaction mode is in between: two connections have one session, or one has two. */
export async function sharesSessions(url: string): Promise<boolean> {
  const processOf = async (client: Client) => (await client.query('SELECT pg_backend_pid() AS pid')).rows[0]?.pid;
  const compare = async (one: Client, other: Client) => {
    const [first, second] = [await processOf(one), await processOf(other)];
    return first === second || first !== (await processOf(one));
  };
  return apart(url, (one) => apart(url, (other) => compare(one, other))).catch(() => false);
}

/** A stream whose listeners may throw: that ends it. */
function guarded(stream: Duplex): Pick<Duplex, 'on'> {
  const on = (event: string, listen: (...args: readonly unknown[]) => void) =>
    stream.on(event, (...args) => {
      try {
        listen(...args);
      } catch (cause) {
        stream.destroy(new Error("the database's response is not of the protocol", { cause }));
      }
    });
  return { on } as Pick<Duplex, 'on'>;
}
