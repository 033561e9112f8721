/**
 * A PostgreSQL server for a test file: the installed one, on a free port, with its data in a temporary folder. Two of
 * which one copies the other. A PgBouncer in front of one; `PGBOUNCER_PROGRAM` names another PgBouncer.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { chown, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { freePorts, type Scope, temporaryFolder } from '../scope.ts';
import { childrenOf, Program, signal } from '../service/process.ts';
import { until } from '../until.ts';
import { findProgram, missing, sh } from './find-program.ts';
import { openProxy } from './tcp-proxy.ts';

/** Debian's folder, which has a subfolder for each version and is not in PATH. */
const DEBIAN = '/usr/lib/postgresql';

const found = findProgram(['initdb'], debianFolders());
/** Not a link to it: its other programs are beside it. */
const initdb = found && realpathSync(found);

export const postgresMissing = missing('initdb', 'postgresql', debianFolders());

export type TestPostgres = Awaited<ReturnType<typeof startPostgres>>;

/** Starts a server with additional settings (`name=value`): an empty one, or a standby of the server with this URL. */
export async function startPostgres(t: Scope, extraSettings: readonly string[] = [], primary?: string) {
  if (initdb === undefined) throw new Error('there is no PostgreSQL to start');
  const owner = await serverOwner();
  const run = (program: string, args: readonly string[]) =>
    sh(join(dirname(initdb), program), args, { ...owner, cwd: tmpdir() });
  const folder = temporaryFolder(t);
  if (owner.uid !== undefined && owner.gid !== undefined) await chown(folder, owner.uid, owner.gid);
  const data = join(folder, 'data');
  if (primary === undefined) {
    await run('initdb', ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync', '-k']);
  } else await run('pg_basebackup', ['-D', data, '-R', '-d', primary, '--checkpoint=fast', '--no-sync']);
  const [port] = await freePorts(1);
  const settings = ['listen_addresses=127.0.0.1', `port=${port}`, `unix_socket_directories=${folder}`];
  const options = [...settings, 'max_connections=200', ...extraSettings].flatMap((setting) => ['-c', setting]);
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const onSocket = `${url}?host=${folder}`;

  let server: Program | undefined;
  const start = async () => {
    server = new Program(join(dirname(initdb), 'postgres'), ['-D', data, ...options], { ...owner, cwd: tmpdir() });
    await until(() => query(onSocket, 'SELECT 1').catch(() => undefined), 'PostgreSQL');
  };
  const end = (name: NodeJS.Signals) => server?.end(name);
  const pid = () => server?.pid ?? -1;
  const signalAll = async (name: NodeJS.Signals) => {
    // The main process first, so that it starts no other one.
    signal(pid(), name);
    for (const child of await childrenOf(pid())) signal(child.pid, name);
  };
  t.teardown(() => end('SIGQUIT'));
  await start();
  return {
    /** As PostgreSQL's programs find it. */
    socket: { PGHOST: folder, PGPORT: String(port) },
    /** Creates an empty database, or a copy of the one with this name. Resolves with its URL. */
    async createDatabase(template = 'template1') {
      const name = `petstore_${randomUUID().replaceAll('-', '')}`;
      await query(url, `CREATE DATABASE ${name} TEMPLATE ${template}`);
      return new URL(`/${name}`, url).href;
    },
    async dropDatabase(database: string) {
      await query(url, `DROP DATABASE IF EXISTS ${new URL(database).pathname.slice(1)} WITH (FORCE)`);
    },
    url,
    /** Starts a server that has ended as a standby of another one, which was its own. */
    async follow(primary: string) {
      const source = `--source-server=${primary}`;
      await run('pg_rewind', ['-D', data, '-R', '--no-sync', source]);
      await start();
    },
    promote: () => query(url, 'SELECT pg_promote()'),
    /** The main process, whose children are the others. */
    pid,
    start,
    /** Ends it and all connections at once, as a crash would. Committed data stays. */
    kill: () => end('SIGQUIT'), // immediate shutdown: the server recovers at the next start
    /** Ends it in order: its standby has everything. */
    stop: () => end('SIGINT'),
    pause: () => signalAll('SIGSTOP'),
    resume: () => signalAll('SIGCONT'),
  };
}

/** The same database at another port of this machine. */
export const onPort = (url: string, port: number | string) => Object.assign(new URL(url), { port: String(port) }).href;

/** A connection that has run the statements, and holds what they locked until its `end`. */
export async function holding(url: string, sql = ''): Promise<Client> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined); // its query reports that the server has ended
  await client.connect();
  await client.query(sql);
  return client;
}

/** The rows of a statement, on a connection of its own, without a timeout. */
export async function query(url: string, sql: string): Promise<Readonly<Record<string, unknown>>[]> {
  const client = await holding(url);
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** PostgreSQL refuses to run as root, so root starts it as the user of Debian's package, or as nobody. */
async function serverOwner(): Promise<{ uid?: number; gid?: number }> {
  if (process.getuid?.() !== 0) return {};
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody');
  if (user === undefined)
    throw new Error('PostgreSQL needs a user that is not root: there is neither postgres nor nobody');
  return { uid: Number(user[2]), gid: Number(user[3]) };
}

function debianFolders(): string[] {
  if (!existsSync(DEBIAN)) return [];
  const versions = readdirSync(DEBIAN).toSorted((one, other) => Number(other) - Number(one));
  return versions.map((version) => join(DEBIAN, version, 'bin'));
}

const SETTINGS = ['fsync=off'];

export const portOf = ({ url }: TestPostgres) => Number(new URL(url).port);

/** And an address that the test moves from one to the other. */
export async function startPair(t: Scope) {
  const first = await startPostgres(t, SETTINGS);
  await query(first.url, "ALTER SYSTEM SET wal_keep_size = '512MB'"); // pg_rewind reads back to the last checkpoint
  await query(first.url, 'CREATE ROLE haproxy LOGIN');
  const second = await startPostgres(t, SETTINGS, first.url);
  const address = await openProxy(t, portOf(first));
  const pair = {
    primary: first,
    standby: second,
    address,
    url: onPort(first.url, address.port),
    /** The address leads there from now on, and its connections end, or stay where they are. */
    lead(to: TestPostgres, cuts = true) {
      address.targetPort = portOf(to);
      if (cuts) address.cut();
    },
    /** Waits until the standby has all that the primary has. */
    async copied() {
      const [row] = await query(pair.primary.url, 'SELECT pg_current_wal_lsn() AS lsn');
      const sql = `SELECT pg_last_wal_replay_lsn() >= '${row?.lsn}' AS done`;
      await until(async () => (await query(pair.standby.url, sql))[0]?.done, 'the copy');
    },
    /** The standby is the primary from now on, and the address leads there. */
    async promote(cuts = true) {
      const { primary, standby } = pair;
      await standby.promote();
      const sql = 'SELECT pg_is_in_recovery() AS standby';
      await until(async () => (await query(standby.url, sql))[0]?.standby === false, 'the promotion');
      await query(standby.url, 'CHECKPOINT'); // pg_rewind looks for the new timeline there
      Object.assign(pair, { primary: standby, standby: primary });
      pair.lead(standby, cuts);
    },
    /** The former primary, which has ended, copies the new one. */
    rejoin: () => pair.standby.follow(pair.primary.url),
    /** Whether commits of a server wait for a standby. */
    async synchronous(server: TestPostgres, isOn = true) {
      await query(server.url, `ALTER SYSTEM SET synchronous_standby_names = '${isOn ? '*' : ''}'`);
      await query(server.url, 'SELECT pg_reload_conf()');
    },
  };
  return pair;
}

const PROGRAM = process.env.PGBOUNCER_PROGRAM ?? findProgram(['pgbouncer'], ['/usr/sbin']);
export const pgbouncerMissing = missing('pgbouncer', undefined, ['/usr/sbin']) ?? postgresMissing;

/** Starts it in front of the server of `url`. */
export async function startPgBouncer(t: Scope, url: string, mode: 'transaction' | 'session' = 'transaction') {
  const owner = await serverOwner(); // PgBouncer and PostgreSQL refuse to run as root
  const folder = temporaryFolder(t);
  if (owner.uid !== undefined && owner.gid !== undefined) await chown(folder, owner.uid, owner.gid);
  const [port = 0] = await freePorts(1);
  const file = (name: string) => join(folder, name);
  await writeFile(file('users'), '"postgres" ""\n', { mode: 0o644 });
  const settings = [
    '[databases]',
    `* = host=127.0.0.1 port=${new URL(url).port}`,
    '[pgbouncer]',
    `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =`,
    `auth_type = trust\nauth_file = ${file('users')}`,
    `pool_mode = ${mode}\ndefault_pool_size = 15\nmax_client_conn = 500\nserver_login_retry = 1`,
  ];
  await writeFile(file('pgbouncer.ini'), `${settings.join('\n')}\n`, { mode: 0o644 });
  const bouncer = new Program(PROGRAM ?? 'pgbouncer', ['-q', file('pgbouncer.ini')], { ...owner, cwd: tmpdir() });
  t.teardown(() => bouncer.end('SIGKILL'));
  /** Returns the URL of a database through PgBouncer. */
  const through = (database: string) => onPort(database, port);
  await until(() => query(through(url), 'SELECT 1').catch(() => undefined), 'PgBouncer');
  return { through };
}
