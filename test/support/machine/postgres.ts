/** A PostgreSQL server for a test file: the installed one, on a free port, with its data in a temporary folder. */
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { chown, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import type { Scope } from '../scope.ts';
import { childrenOf, signal } from '../service/launcher.ts';
import { Program } from '../service/process.ts';
import { until } from '../until.ts';
import { findProgram, missing, sh } from './find-program.ts';
import { temporaryFolder } from './folder.ts';
import { freePorts } from './ports.ts';

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
export async function serverOwner(): Promise<{ uid?: number; gid?: number }> {
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
