/** Runs PostgreSQL's programs. The password is in their environment, because every user can see arguments. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { TITLE } from '../src/identity.ts';
import { ConfigError } from '../src/platform/config/config.ts';
import { sharesSessions } from '../src/platform/storage/postgres-client.ts';

const NEW_SETTING = /^SET transaction_timeout = 0;$/m;
/** Of the settings with which the output of pg_restore begins, before any data. */
const LAST_SETTING = 'SET row_security = off;';

const PSQL = ['--no-psqlrc', '--quiet', '--tuples-only', '--no-align'].concat(
  ['ON_ERROR_STOP=1', 'VERBOSITY=terse'].map((set) => `--set=${set}`),
);
/** How psql exits when its connection has broken. */
const LOST = 2;
/** How often the database is then asked what has become of its transaction. */
const [MAX_TRIES, PAUSE_MS] = [20, 500];

/**
 * Throws ConfigError where PgBouncer gives the sessions of servers to other programs too: pg_dump leaves settings in
 * them, such as an empty search_path, with which the servers would find no table.
 */
export async function refusePooler(databaseUrl: string | undefined): Promise<void> {
  if (databaseUrl === undefined || !(await sharesSessions(databaseUrl))) return;
  const wayOut = "name PostgreSQL's own address in DATABASE_URL for this program";
  throw new ConfigError(`DATABASE_URL leads to PgBouncer in transaction mode: ${wayOut}`);
}

/** Runs a program to its end. Returns its output. Throws ConfigError with its message if it fails. */
export function runProgram(program: string, args: readonly string[], databaseUrl?: string): string {
  const { options, env } = connection(databaseUrl);
  const { status, error, stdout, stderr } = spawnSync(program, [...args, ...options], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    maxBuffer: Number.POSITIVE_INFINITY,
  });
  if (error) throw missing(program, error);
  if (status !== 0) throw failed(program, stderr);
  return stdout;
}

/** The schema of the service's tables in a dump. Throws ConfigError, about `source`, when it has none of them. */
export function schemaOf(dump: string, source: string): string {
  const [, schema] = / TABLE DATA (\S+) schema_migrations /.exec(runProgram('pg_restore', ['--list', dump])) ?? [];
  if (schema === undefined) throw new ConfigError(`${source} has none of the tables of the ${TITLE}`);
  return schema;
}

/** The rows of these queries. Throws ConfigError with the first error. */
export function select(url: string, ...queries: readonly string[]): readonly string[] {
  const commands = queries.flatMap((sql) => ['--command', sql]);
  return runProgram('psql', [...PSQL, ...commands], url)
    .split('\n')
    .filter(Boolean);
}

/**
 * Runs SQL in one transaction of psql: `before`, the output of `pg_restore` for the dump, `after`. When this process is
 * killed, nothing has happened. Throws ConfigError with the first error. If the connection breaks, the database is
 * asked whether the transaction has ended with COMMIT: it may have, unheard.
 */
export async function runWithDump(url: string, dump: string, before: string, after: string): Promise<void> {
  const { options, env } = connection(url);
  // One schema: extensions and publications may be those of a superuser, who has to restore them.
  const schema = schemaOf(dump, 'the dump');
  const own = ['--no-owner', '--no-privileges', `--schema=${schema}`];
  const psql = spawn('psql', [...PSQL, ...options], { env });
  const restore = spawn('pg_restore', [...own, '--file=-', dump], { env });
  const [ended, restored] = [psql, restore].map((child) => once(child, 'close'));
  const says = Promise.all([psql.stdout, psql.stderr, restore.stderr].map((stream) => text(stream)));
  psql.stdin.on('error', () => undefined); // it has ended, and says why
  psql.stdin.write(`BEGIN;\nSELECT txid_current();\n\\o /dev/null\n${before}${createSchema(schema)}`);
  await pipeline(restore.stdout, withoutNewSetting, psql.stdin, { end: false }).catch(() => undefined);
  try {
    const [restoreStatus] = (await restored) ?? [];
    psql.stdin.end(restoreStatus === 0 ? `${after}\nCOMMIT;\n` : '');
    const [status] = (await ended) ?? [];
    const [transaction = '', errors = '', restoreErrors = ''] = await says;
    if (restoreStatus !== 0 && status === 0) throw failed('pg_restore', restoreErrors);
    if (status !== 0 && !(status === LOST && (await hasCommitted(url, transaction.trim()))))
      throw failed('psql', errors);
  } catch (error) {
    throw error instanceof ConfigError ? error : missing('psql or pg_restore', error as Error);
  }
}

/** Whether a transaction whose connection broke has committed. Throws ConfigError when nobody knows. */
async function hasCommitted(url: string, transaction: string): Promise<boolean> {
  if (transaction === '') return false;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    try {
      const [outcome = ''] = select(url, `SELECT txid_status(${transaction})`);
      if (outcome !== 'in progress') return outcome === 'committed';
    } catch {} // it is away
    await delay(PAUSE_MS);
  }
  throw new ConfigError('the connection broke, and nobody knows whether the data was restored: look, or restore again');
}

/** SQL that needs no privilege when the schema is there. A pg_restore of one schema does not create it. */
function createSchema(schema: string): string {
  const name = `"${schema.replaceAll('"', '""')}"`;
  const isMissing = `to_regnamespace('${name.replaceAll("'", "''")}') IS NULL`;
  return `\nDO $do$ BEGIN IF ${isMissing} THEN CREATE SCHEMA ${name}; END IF; END $do$;\n`;
}

/** A pg_restore of 17 or later sets a time limit, to none, that PostgreSQL before 17 does not know. */
async function* withoutNewSetting(sql: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of sql) {
    if (head === undefined) yield chunk;
    else {
      head = Buffer.concat([head, chunk]);
      if (!head.includes(LAST_SETTING)) continue;
      yield Buffer.from(head.toString('latin1').replace(NEW_SETTING, ''), 'latin1');
      head = undefined;
    }
  }
  if (head !== undefined) yield head;
}

function connection(databaseUrl: string | undefined): { options: readonly string[]; env: NodeJS.ProcessEnv } {
  const { DATABASE_URL, REDIS_URL, OPERATOR_KEY, ...env } = process.env;
  if (databaseUrl === undefined) return { options: [], env };
  const url = new URL(databaseUrl);
  const PGPASSWORD = decodeURIComponent(url.password);
  url.password = '';
  return { options: [`--dbname=${url.href}`], env: { ...env, ...(PGPASSWORD && { PGPASSWORD }) } };
}

function missing(program: string, { message }: Error): ConfigError {
  return new ConfigError(`${program} can't be run (${message}): install PostgreSQL's client programs`);
}

function failed(program: string, errors: string): ConfigError {
  const [, message] = /^(?:psql:.*)?ERROR: +(.*)$/m.exec(errors) ?? [];
  return new ConfigError(message ?? (errors.trim().replaceAll('\n', ' ') || `${program} failed`));
}
