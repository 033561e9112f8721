/** `npm run migrate`: migrates the database and exits, as a job before servers are started. */
import { makePrivate } from './files/private-folder.ts';
import { type Command, run } from './launcher/command.ts';
import { createLogger } from './observe/logging/logger.ts';
import { MIGRATIONS } from './schema.ts';
import { openEngine } from './storage/open.ts';

const COMMAND: Command = {
  name: 'npm run migrate',
  about: `Migrates the database to the current schema. All migrations run in one transaction.
While another process migrates, this one waits, 60 s at most. The exit code is 0 when
the schema is current; otherwise 1, with the reason in one line.`,
};

await run(async (config) => {
  const logger = createLogger(config);
  await makePrivate(config.dataDir);
  const engine = await openEngine({ ...config, migrateAtStart: true }, MIGRATIONS, logger);
  await engine.close();
  logger.info('nothing is left to migrate');
}, COMMAND);
