/**
 * A pair of PostgreSQL servers with HAProxy and PgBouncer before it, a Redis Cluster of three masters with a replica
 * each; and servers of the pet store on them, which are new for each fail-over.
 */
import type { ExecutionContext } from 'ava';
import { haproxyPostgres } from '../proxies/proxies.ts';
import { temporaryFolder } from '../support/machine/folder.ts';
import { pgbouncerMissing, startPgBouncer } from '../support/machine/pgbouncer.ts';
import { onPort, query } from '../support/machine/postgres.ts';
import { portOf, startPair } from '../support/machine/postgres-pair.ts';
import { MISSING_REDIS_SERVER, startRedisCluster } from '../support/machine/redis.ts';
import type { Scope } from '../support/scope.ts';
import { startTestServer, type TestServer } from '../support/service/server.ts';

export const worldMissing = MISSING_REDIS_SERVER ?? pgbouncerMissing ?? haproxyPostgres.missing;

/** What the servers' address of PostgreSQL leads to: one that the test moves, with PgBouncer before it; or HAProxy. */
export type Through = 'address' | 'PgBouncer' | 'HAProxy';

export type Machines = Awaited<ReturnType<typeof startMachines>>;

export async function startMachines(t: Scope) {
  const pair = await startPair(t);
  const { primary, standby, url } = pair;
  return Object.assign(pair, {
    cluster: await startRedisCluster(t, 1),
    urls: {
      address: url,
      PgBouncer: (await startPgBouncer(t, url)).through(primary.url),
      HAProxy: await haproxyPostgres.start(t, primary.url, standby.url),
    } satisfies Record<Through, string>,
  });
}

export class World {
  readonly #t: ExecutionContext;
  readonly #count: number;
  readonly #settings: Readonly<Record<string, string>>;
  readonly machines: Machines;
  /** The database by PostgreSQL's own address. */
  readonly database: string;
  /** The last that were started. */
  servers: readonly TestServer[] = [];
  /** What was acknowledged later must not be lost. */
  lostMs = 0;
  readonly folder: string;

  private constructor(t: ExecutionContext, machines: Machines, count: number, database: string, url: string) {
    this.#t = t;
    this.#count = count;
    this.machines = machines;
    this.database = database;
    this.folder = temporaryFolder(t);
    const { urls } = machines.cluster.config;
    const REDIS_URL = urls.map((one, index) => (index === 0 ? one : new URL(one).host)).join(',');
    this.#settings = { DATABASE_URL: url, REDIS_URL, DEMO_ACCOUNT: 'no', DATABASE_CONNECTIONS: '5' };
  }

  static async start(t: ExecutionContext, machines: Machines, count: number, through: Through): Promise<World> {
    for (const node of machines.cluster.nodes) await node.command('FLUSHALL').catch(() => undefined); // a replica
    const database = await machines.primary.createDatabase();
    const url = Object.assign(new URL(machines.urls[through]), { pathname: new URL(database).pathname }).href;
    const world = new World(t, machines, count, database, url);
    if (through === 'PgBouncer') Object.assign(world.#settings, { PGBOUNCER: 'yes' });
    await world.startServers();
    return world;
  }

  async startServers(): Promise<void> {
    const servers: TestServer[] = [];
    for (let index = 0; index < this.#count; index += 1) servers.push(await startTestServer(this.#t, this.#settings));
    this.servers = servers;
  }

  async stopServers(): Promise<void> {
    await Promise.all(this.servers.map(({ close }) => close()));
  }

  /** `host:port` of a server, counted round and round. */
  addressOf(index: number): string {
    return this.servers[index % this.#count]?.address ?? '';
  }

  /** The rows of a statement on the primary. */
  query(sql: string) {
    return query(onPort(this.database, portOf(this.machines.primary)), sql);
  }

  /** The lines of each server about what is away and back. */
  outages(): string[][] {
    const lines = this.servers.map(({ logs }) => logs.map(({ msg }) => String(msg)));
    return lines.map((all) => all.filter((line) => /^(the database is|Redis is|(A|The) slot of Redis)/.test(line)));
  }
}
