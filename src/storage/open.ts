/** Which database the settings ask for. */
import { join } from 'node:path';
import type { Logger } from 'pino';
import { type Config, ConfigError } from '../config.ts';
import type { Engine } from './engine.ts';
import { StoreUnavailable } from './errors.ts';
import { openPostgres } from './postgres.ts';
import { openSqlite } from './sqlite.ts';

export async function openEngine({ databaseUrl, dataDir }: Config, logger: Logger): Promise<Engine> {
  if (databaseUrl === undefined) return openSqlite(join(dataDir, 'petstore.sqlite'));
  try {
    return await openPostgres(databaseUrl, {
      onAway: ({ message }) => logger.warn({ cause: message }, 'the database is away: calls that need it fail'),
      onBack: () => logger.info('the database is back'),
    });
  } catch (error) {
    if (error instanceof StoreUnavailable) throw new ConfigError(`DATABASE_URL can't be used: ${error.message}`);
    throw error;
  }
}
