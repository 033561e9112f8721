/** `npm run migrate`: migrates the database, in one transaction, and exits: a job before servers are started. */
import { makePrivate } from './platform/files/private-folder.ts';
import { createLogger } from './platform/observe/logging/logger.ts';
import { openEngine } from './platform/process/database.ts';
import { run } from './platform/process/run.ts';
import { MIGRATIONS } from './schema.ts';

await run(async (config) => {
  const logger = createLogger(config);
  await makePrivate(config.dataDir);
  const engine = await openEngine({ ...config, migrateAtStart: true }, MIGRATIONS, logger);
  await engine.close();
  logger.info('nothing is left to migrate');
});
