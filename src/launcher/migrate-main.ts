/** `npm run migrate`: migrates the database and exits, as a job before servers are started. */
import { parseArgs } from 'node:util';
import { ConfigError } from '../config.ts';
import { makePrivate, PRIVATE_UMASK } from '../files/private-folder.ts';
import { createLogger, hideKeys } from '../logging/logger.ts';
import { openEngine } from '../storage/open.ts';
import { loadConfig } from './load-config.ts';

const HELP = `Usage: npm run migrate [-- --help]

Migrates the database of DATABASE_URL, or the SQLite file in DATA_DIR, to the current schema.
All migrations run in one transaction. While another process migrates, this one waits, 60 s at most.
Servers with MIGRATE_AT_START=no rely on this command.

The exit code is 0 when the schema is current; otherwise 1, with the reason in one line.
`;

async function main(): Promise<void> {
  process.umask(PRIVATE_UMASK);
  const { values } = parseArgs({ options: { help: { type: 'boolean', short: 'h' } } });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const config = loadConfig();
  const logger = createLogger(config);
  await makePrivate(config.dataDir);
  const engine = await openEngine({ ...config, migrateAtStart: true }, logger);
  await engine.close();
  logger.info('nothing is left to migrate');
}

await main().catch((error: unknown) => {
  const isExpected = error instanceof ConfigError || (error instanceof TypeError && 'code' in error); // a wrong option
  process.stderr.write(hideKeys(`petstore: ${isExpected ? error.message : String((error as Error).stack)}\n`));
  process.exit(1);
});
