/**
 * A restore drill: restores the newest backup into a scratch place, starts a server on it, reads every list from that
 * server, and compares the counts. It reads the service's settings, and changes nothing of the running service.
 */
import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { createClient, pages } from '../gen/client/index.ts';
import { SERVICES } from '../gen/client/services.ts';
import { ConfigError, readConfig } from '../src/platform/config/config.ts';
import { SHOP_TABLES } from '../src/shop/tables.ts';
import { endWithOneLine } from './one-line.ts';
import { refusePooler, runProgram } from './postgres-program.ts';

const HELP = `Usage: node deploy/drill.ts --from FOLDER

Restores the newest backup of the folder into a scratch place, starts a server there, and reads all resources of the
shop from it. Prints their counts: in the service's database now, in the backup, as the server returned them. Exits
with 1 unless the last two are equal. It needs room for a second copy; the user of DATABASE_URL must be allowed to
create a database (petstore_drill).
`;
const ROOT = new URL('../', import.meta.url);
/** Those of the shop that a service lists, under the same name. */
const TABLES = Object.keys(SERVICES).filter((name): name is keyof typeof SERVICES => name in SHOP_TABLES);
const COUNT = TABLES.map((table) => `SELECT count(*) AS rows FROM ${table}`).join(' UNION ALL ');
const DATABASE = 'petstore_drill';
const NO_LIMITS = { BUSINESS_PER_MINUTE: '1000000000', BUSINESS_PER_DAY: '1000000000' };

/** The signals of a terminal and of systemd. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const interruption = new AbortController();
const { signal } = interruption;

/** The settings of the scratch place. Nothing else of this process's environment gets there. */
type Place = Readonly<Record<string, string>>;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { from: { type: 'string' }, help: { type: 'boolean' } } });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  if (!values.from) throw new ConfigError('--from must name the folder of the backups');
  const [newest] = globSync('petstore-*T*Z.{sqlite,dump}', { cwd: values.from }).sort().reverse();
  if (newest === undefined) throw new ConfigError(`there is no backup in ${values.from}`);
  const { dataDir, databaseUrl } = readConfig();
  await refusePooler(databaseUrl);
  for (const name of SIGNALS) process.once(name, () => interruption.abort(new ConfigError(`ended by ${name}`)));
  const beganMs = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'petstore-drill-'));
  try {
    const place = { PATH: process.env.PATH ?? '', DATA_DIR: folder, ...NO_LIMITS, ...makeDatabase(databaseUrl) };
    await run('deploy/restore.ts', [join(values.from, newest)], place);
    const now = count({ DATA_DIR: dataDir, ...(databaseUrl && { DATABASE_URL: databaseUrl }) });
    const restored = count(place) ?? [];
    const served = await readFromServer(place);
    for (const [index, table] of TABLES.entries()) {
      const counts = `${restored[index]} in the backup, ${served[index]} served, ${now?.[index] ?? 'unknown'} now`;
      process.stdout.write(`${table.padEnd(10)}  ${counts}\n`);
    }
    if (String(served) !== String(restored)) throw new ConfigError(`the server does not return what ${newest} has`);
    process.stdout.write(`${newest} can be restored. It took ${Math.ceil((performance.now() - beganMs) / 1_000)} s\n`);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    if (databaseUrl !== undefined) dropDatabase(databaseUrl);
    rmSync(folder, { recursive: true, maxRetries: 50 }); // a program that was ended may still write there
  }
}

function makeDatabase(databaseUrl: string | undefined): Place {
  if (databaseUrl === undefined) return {};
  dropDatabase(databaseUrl); // of a drill that was killed
  runProgram('psql', ['--no-psqlrc', '--quiet', `--command=CREATE DATABASE ${DATABASE}`], databaseUrl);
  const url = new URL(databaseUrl);
  url.pathname = DATABASE;
  return { DATABASE_URL: url.href };
}

function dropDatabase(databaseUrl: string): void {
  const sql = `DROP DATABASE IF EXISTS ${DATABASE} WITH (FORCE)`;
  runProgram('psql', ['--no-psqlrc', '--quiet', `--command=${sql}`], databaseUrl);
}

/** The rows of each table; undefined where there is no store. */
function count({ DATA_DIR = '', DATABASE_URL }: Place): readonly number[] | undefined {
  if (DATABASE_URL !== undefined) {
    const options = ['--no-psqlrc', '--tuples-only', '--no-align', `--command=${COUNT}`];
    return runProgram('psql', options, DATABASE_URL).trim().split('\n').map(Number);
  }
  const file = join(DATA_DIR, 'petstore.sqlite');
  if (!existsSync(file)) return undefined;
  const database = new DatabaseSync(file, { readOnly: true });
  const rows = database.prepare(COUNT).all();
  database.close();
  return rows.map((row) => Number(row.rows));
}

/** Starts a server, and counts what its lists return. */
async function readFromServer(place: Place): Promise<readonly number[]> {
  const port = await freePort();
  const log = join(place.DATA_DIR ?? '', 'drill.log');
  const env = { ...place, GRPC_PORT: String(port), LOG_FILE: log };
  const server = fork(new URL('src/main.ts', ROOT), { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const ended = once(server, 'exit');
  try {
    const [started] = await Promise.race([once(server, 'message', { signal }), ended]);
    if (typeof started !== 'object') throw new ConfigError(`the server did not start on the restored data`);
    const account = JSON.parse(
      await run('src/platform/cli/main.ts', ['account', 'create', '--name=drill', '--plan=business', '--json'], env),
    );
    const key = JSON.parse(
      await run('src/platform/cli/main.ts', ['key', 'create', `--account=${account.id}`, '--json'], env),
    );
    const client = createClient({ address: `127.0.0.1:${port}`, apiKey: key.key });
    const served: number[] = [];
    for (const table of TABLES) served.push(await countListed(client[table]));
    await client.close();
    return served;
  } finally {
    server.kill('SIGKILL');
    await ended;
  }
}

type List = (request: { readonly pageToken?: string; readonly limit: number }) => Promise<{ nextPageToken: string }>;

/** How many items the list of a service has. */
async function countListed(service: object): Promise<number> {
  const [, list] = Object.entries<List>({ ...service }).find(([method]) => method.startsWith('list')) ?? [];
  if (list === undefined) throw new Error('a service has no list');
  let count = 0;
  for await (const page of pages(list, { limit: 100 })) {
    signal.throwIfAborted();
    count += Object.values(page).find(Array.isArray)?.length ?? 0;
  }
  return count;
}

/** Runs one of the repository's programs. Resolves with its output. */
async function run(file: string, args: readonly string[], env: Place): Promise<string> {
  try {
    const all = [fileURLToPath(new URL(file, ROOT)), ...args];
    return (await promisify(execFile)(process.execPath, all, { env, signal })).stdout;
  } catch (error) {
    throw new ConfigError(
      String((error as { stderr?: string }).stderr)
        .trim()
        .replace(/^petstore: /, ''),
    );
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

await endWithOneLine(main);
