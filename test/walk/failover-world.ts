/**
 * Two PostgreSQL servers of which one copies the other, a Redis Cluster of three masters with a replica each, HAProxy
 * and PgBouncer before PostgreSQL; and servers of the pet store on them, which are new for each fail-over.
 */
import type { ExecutionContext } from 'ava';
import { haproxyPostgres } from '../proxies/proxies.ts';
import { temporaryFolder } from '../support/machine/folder.ts';
import { pgbouncerMissing, startPgBouncer } from '../support/machine/pgbouncer.ts';
import { query, startPostgres, type TestPostgres } from '../support/machine/postgres.ts';
import { MISSING_REDIS_SERVER, startRedisCluster } from '../support/machine/redis.ts';
import { openProxy } from '../support/machine/tcp-proxy.ts';
import type { Scope } from '../support/scope.ts';
import { startTestServer, type TestServer } from '../support/service/server.ts';
import { until } from '../support/until.ts';

export const worldMissing = MISSING_REDIS_SERVER ?? pgbouncerMissing ?? haproxyPostgres.missing;

const SETTINGS = ['fsync=off'];
/** What the servers' address of PostgreSQL leads to: one that the test moves, with PgBouncer before it; or HAProxy. */
export type Through = 'address' | 'PgBouncer' | 'HAProxy';

export const portOf = ({ url }: TestPostgres) => Number(new URL(url).port);

export type Machines = Awaited<ReturnType<typeof startMachines>>;

export async function startMachines(t: Scope) {
  const first = await startPostgres(t, SETTINGS);
  await query(first.url, "ALTER SYSTEM SET wal_keep_size = '512MB'"); // pg_rewind reads back to the last checkpoint
  await query(first.url, 'CREATE ROLE haproxy LOGIN');
  const second = await startPostgres(t, SETTINGS, first.url);
  const address = await openProxy(t, portOf(first));
  const at = (port: number | string) => Object.assign(new URL(first.url), { port: String(port) }).href;
  const machines = {
    cluster: await startRedisCluster(t, 1),
    primary: first,
    standby: second,
    address,
    urls: {
      address: at(address.port),
      PgBouncer: (await startPgBouncer(t, at(address.port))).through(first.url),
      HAProxy: at(await haproxyPostgres.start(t, first.url, second.url)),
    } satisfies Record<Through, string>,
    /** The address leads there from now on, and its connections end. */
    lead(to: TestPostgres) {
      address.targetPort = portOf(to);
      address.cut();
    },
    /** Waits until the standby has all that the primary has. */
    async copied() {
      const [row] = await query(machines.primary.url, 'SELECT pg_current_wal_lsn() AS lsn');
      const sql = `SELECT pg_last_wal_replay_lsn() >= '${row?.lsn}' AS done`;
      await until(async () => (await query(machines.standby.url, sql))[0]?.done, 'the copy');
    },
    /** The standby is the primary from now on, and the address leads there. */
    async promote() {
      const { primary, standby } = machines;
      await standby.promote();
      const sql = 'SELECT pg_is_in_recovery() AS standby';
      await until(async () => (await query(standby.url, sql))[0]?.standby === false, 'the promotion');
      await query(standby.url, 'CHECKPOINT'); // pg_rewind looks for the new timeline there
      Object.assign(machines, { primary: standby, standby: primary });
      machines.lead(standby);
    },
    /** The former primary, which has ended, copies the new one. */
    rejoin: () => machines.standby.follow(machines.primary.url),
    /** Whether commits of a server wait for a standby. */
    async synchronous(server: TestPostgres, isOn = true) {
      await query(server.url, `ALTER SYSTEM SET synchronous_standby_names = '${isOn ? '*' : ''}'`);
      await query(server.url, 'SELECT pg_reload_conf()');
    },
  };
  return machines;
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
    return query(Object.assign(new URL(this.database), { port: portOf(this.machines.primary) }).href, sql);
  }

  /** How many lines of each server begin so. */
  said(begin: string): number[] {
    return this.servers.map(({ logs }) => logs.filter(({ msg }) => String(msg).startsWith(begin)).length);
  }
}
