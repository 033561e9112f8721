/**
 * Restores a backup of `deploy/backup.ts`. It reads the service's settings. The service must not run. The previous data
 * is kept beside the restored file (SQLite), or replaced in a single transaction (PostgreSQL).
 */
import { copyFileSync, existsSync, mkdirSync, renameSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Config, ConfigError, readConfig } from '../src/config.ts';
import { PRIVATE_UMASK } from '../src/files/private-folder.ts';
import { lockDataFolder } from '../src/launcher/data-lock.ts';
import { checkSqlite } from './check-sqlite.ts';
import { endWithOneLine } from './one-line.ts';
import { runProgram } from './postgres-program.ts';

const HELP = `Usage: node deploy/restore.ts FILE

Puts a backup back: a .sqlite file into DATA_DIR, a .dump into the database of DATABASE_URL, in one transaction.
Stop the service first. The operator's key beside the backup goes into DATA_DIR with it; the file or key that it
takes the place of is kept as <name>.before-restore.
`;
const FOLDER_MODE = 0o700;
/** SQLite's files beside the database. The latest writes may be in them. */
const SQLITE_FILES = ['', '-wal', '-shm'];

function main(): void {
  process.umask(PRIVATE_UMASK);
  const { values, positionals } = parseArgs({ options: { help: { type: 'boolean' } }, allowPositionals: true });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0) throw new ConfigError('name one backup: node deploy/restore.ts FILE');
  const backup = resolve(file);
  if (!existsSync(backup)) throw new ConfigError(`there is no ${backup}`);
  const config = readConfig();
  const isDump = backup.endsWith('.dump');
  if (isDump !== (config.databaseUrl !== undefined)) {
    const has =
      config.databaseUrl === undefined ? 'SQLite (DATABASE_URL is not set)' : 'PostgreSQL (DATABASE_URL is set)';
    throw new ConfigError(`${backup} is not a backup of the engine that the settings name: ${has}`);
  }
  mkdirSync(config.dataDir, { recursive: true, mode: FOLDER_MODE });
  const lock = lockDataFolder(config.dataDir);
  try {
    if (config.databaseUrl === undefined) restoreSqlite(config, backup);
    else restorePostgres(config.databaseUrl, backup);
    const key = backup.replace(/\.\w+$/, '.operator.key');
    if (existsSync(key)) replace(join(config.dataDir, 'operator.key'), key);
  } finally {
    lock.release();
  }
  process.stdout.write(`restored ${backup}\n`);
}

function restoreSqlite({ dataDir }: Config, backup: string): void {
  checkSqlite(backup);
  replace(join(dataDir, 'petstore.sqlite'), backup);
}

function restorePostgres(databaseUrl: string, backup: string): void {
  const options = ['--clean', '--if-exists', '--no-owner', '--single-transaction', '--exit-on-error'];
  runProgram('pg_restore', [...options, backup], databaseUrl);
}

/** Replaces `file` by a copy of `by`, and keeps the old file. */
function replace(file: string, by: string): void {
  copyFileSync(by, `${file}.restoring`);
  for (const end of SQLITE_FILES) if (existsSync(file + end)) renameSync(file + end, `${file}.before-restore${end}`);
  renameSync(`${file}.restoring`, file);
}

endWithOneLine(main);
