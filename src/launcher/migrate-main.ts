/** `npm run migrate`: brings the database's schema up to date and ends, as a job of its own before servers are started. */
import { parseArgs } from 'node:util';
import { ConfigError } from '../config.ts';
import { makePrivate, PRIVATE_UMASK } from '../files/private-folder.ts';
import { createLogger, hideKeys } from '../logging/logger.ts';
import { openEngine } from '../storage/open.ts';
import { loadConfig } from './load-config.ts';

const HELP = `Usage: npm run migrate [-- --help]

Brings the schema of the database up to date: that of DATABASE_URL, or the SQLite file in DATA_DIR.
All that is lacking is done in one transaction. While another process is at it this one waits, 60 s at the most.
Servers that are started with MIGRATE_AT_START=no leave the schema to this command.

It ends with 0 when the schema is up to date, and with 1 and the reason in one line when it is not.
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
