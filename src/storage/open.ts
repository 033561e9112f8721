/** Which database the settings ask for, and whether its schema is brought up to date first. */
import { join } from 'node:path';
import type { Logger } from 'pino';
import { type Config, ConfigError } from '../config.ts';
import type { Engine } from './engine.ts';
import { SchemaRefused, StoreUnavailable } from './errors.ts';
import { openPostgres } from './postgres.ts';
import { openSqlite } from './sqlite.ts';

/** @throws ConfigError when the database can't be used, with one line that says why. */
export async function openEngine(config: Config, logger: Pick<Logger, 'info' | 'warn'>): Promise<Engine> {
  const { databaseUrl, dataDir, databaseConnections, preparedStatements, migrateAtStart: migrates } = config;
  try {
    if (databaseUrl === undefined) return await openSqlite(join(dataDir, 'petstore.sqlite'), migrates);
    return await openPostgres(databaseUrl, {
      connections: databaseConnections,
      preparedStatements,
      migrates,
      onAway: ({ message }) => logger.warn({ cause: message }, 'the database is away: calls that need it fail'),
      onBack: () => logger.info('the database is back'),
      onWait: (maxSeconds) =>
        logger.info({ maxSeconds }, 'another process is changing the database: waiting for it to be done'),
    });
  } catch (error) {
    if (error instanceof SchemaRefused) throw new ConfigError(error.message);
    const name = databaseUrl === undefined ? 'DATA_DIR' : 'DATABASE_URL';
    if (error instanceof StoreUnavailable) throw new ConfigError(`${name} can't be used: ${error.message}`);
    throw error;
  }
}
