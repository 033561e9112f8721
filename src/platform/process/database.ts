/** Opens the database of the settings, and says in one line why it can't be used. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DATABASE_FILE } from '../../identity.ts';
import { type Config, ConfigError, TemporaryFailure } from '../config/config.ts';
import { diskFull, isDiskFull } from '../files/private-folder.ts';
import { unfinishedRestore } from '../files/unfinished-restore.ts';
import type { Engine, EngineOptions, StorageLogger } from '../storage/engine.ts';
import type { Migration } from '../storage/migrate.ts';
import { openSqlite } from '../storage/sqlite.ts';
import { isLocked, isUnusable } from '../storage/sqlite-connection.ts';
import { StoreUnavailable } from '../storage/store-errors.ts';

/** Opens the database and, if the settings allow it, migrates its schema. @throws ConfigError or TemporaryFailure */
export async function openEngine(
  config: Config,
  migrations: readonly Migration[],
  logger: StorageLogger,
  onMigration?: EngineOptions['onMigration'],
): Promise<Engine> {
  const { databaseUrl, dataDir, databaseConnections, pgbouncer: isPooled, migrateAtStart: migrates } = config;
  const options = { migrates, logger, onMigration };
  try {
    if (databaseUrl === undefined) return await openSqlite(findSqlite(dataDir), migrations, options);
    const { openPostgres } = await import('../storage/postgres.ts');
    return await openPostgres(databaseUrl, migrations, { ...options, connections: databaseConnections, isPooled });
  } catch (error) {
    throw explain(error, config);
  }
}

/** The database's file. A start must not make an empty one in the place of one that is being restored. */
function findSqlite(dataDir: string): string {
  const file = join(dataDir, DATABASE_FILE);
  const unfinished = unfinishedRestore(file);
  if (existsSync(file) || !existsSync(unfinished)) return file;
  const wayOut = `run it again, or remove ${unfinished} to start with an empty store`;
  throw new ConfigError(`there is no ${file}, as a restore was not finished: ${wayOut}`);
}

/** What a start throws in place of an error of the database or the disk. */
export function explain(error: unknown, { databaseUrl, dataDir }: Config): unknown {
  if (isUnusable(error)) {
    const advice = 'check who owns it; if it is damaged, restore a backup';
    return new ConfigError(`${join(dataDir, DATABASE_FILE)} can't be used (${error.message}): ${advice}`);
  }
  if (isDiskFull(error)) return diskFull(dataDir, error); // a key file did not fit
  if (!(error instanceof StoreUnavailable)) return error;
  if (databaseUrl !== undefined) return new TemporaryFailure(`DATABASE_URL can't be used: ${error.message}`);
  if (!isLocked(error.cause)) return diskFull(dataDir, error);
  const what = `another process keeps the SQLite file in ${dataDir} (${error.message})`;
  return new TemporaryFailure(`${what}: end it, or wait until it is done`);
}
