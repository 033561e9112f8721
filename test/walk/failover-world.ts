/**
 * A pair of PostgreSQL servers with HAProxy and PgBouncer before it, a Redis Cluster of three masters with a replica
 * each; and servers of the pet store on them, which are new for each fail-over.
 */
import type { ExecutionContext } from 'ava';
import { haproxyPostgres } from '../proxies/proxies.ts';
import { onPort, pgbouncerMissing, portOf, query, startPair, startPgBouncer } from '../support/machine/postgres.ts';
import { MISSING_REDIS_SERVER, startRedisCluster } from '../support/machine/redis.ts';
import { type Scope, temporaryFolder } from '../support/scope.ts';
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

export type World = Awaited<ReturnType<typeof startWorld>>;

export async function startWorld(t: ExecutionContext, machines: Machines, count: number, through: Through) {
  const { primary, cluster, urls } = machines;
  for (const node of cluster.nodes) await node.command('FLUSHALL').catch(() => undefined); // a replica
  const database = await primary.createDatabase();
  const [first, ...others] = cluster.config.urls;
  const settings = {
    DATABASE_URL: Object.assign(new URL(urls[through]), { pathname: new URL(database).pathname }).href,
    REDIS_URL: [first, ...others.map((one) => new URL(one).host)].join(','),
    ...{ DEMO_ACCOUNT: 'no', DATABASE_CONNECTIONS: '5', PGBOUNCER: through === 'PgBouncer' ? 'yes' : 'no' },
  };
  const world = {
    /** By PostgreSQL's own address. */
    database,
    folder: temporaryFolder(t),
    /** The last that were started. */
    servers: [] as readonly TestServer[],
    /** What was acknowledged later must not be lost. */
    lostMs: 0,
    async startServers() {
      const servers: TestServer[] = [];
      while (servers.length < count) servers.push(await startTestServer(t, settings));
      world.servers = servers;
    },
    stopServers: () => Promise.all(world.servers.map(({ close }) => close())),
    /** `host:port` of a server, counted round and round. */
    addressOf: (index: number) => world.servers[index % count]?.address ?? '',
    /** The rows of a statement on the primary. */
    query: (sql: string) => query(onPort(database, portOf(machines.primary)), sql),
    /** The lines of each server about what is away and back. */
    outages(): string[][] {
      const lines = world.servers.map(({ logs }) => logs.map(({ msg }) => String(msg)));
      return lines.map((all) => all.filter((line) => /^(the database is|Redis is|(A|The) slot of Redis)/.test(line)));
    },
  };
  await world.startServers();
  return world;
}
