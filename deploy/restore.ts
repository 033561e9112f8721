/**
 * Restores a backup of `deploy/backup.ts`. It reads the service's settings. The service must not run. A kill at any
 * moment leaves the old data or the restored data. The old data is kept.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Config, ConfigError, readConfig } from '../src/platform/config/config.ts';
import { makePrivate, PRIVATE_UMASK } from '../src/platform/files/private-folder.ts';
import { lockDataFolder } from '../src/platform/process/data-lock.ts';
import { endWithOneLine } from './one-line.ts';
import { refusePooler } from './postgres-program.ts';
import { restorePostgres } from './restore-postgres.ts';
import { placeKey, type Restored, restoreSqlite } from './restore-sqlite.ts';

const HELP = `Usage: node deploy/restore.ts FILE

Puts a backup in the place of the service's data: a .sqlite file into DATA_DIR, a .dump into the database of
DATABASE_URL, as the owner of its tables. Stop the service first. Killed at any moment, it has left the old data or the
restored data. The old data is kept in DATA_DIR/before-restore-<UTC time>, or in the schema before_restore_<UTC time>:
the output says where, and lists what was revoked since the backup and is valid again. The operator's key of the backup
is used only where DATA_DIR has none.
`;

async function main(): Promise<void> {
  process.umask(PRIVATE_UMASK);
  const options = { help: { type: 'boolean' } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
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
  await refusePooler(config.databaseUrl);
  await makePrivate(config.dataDir); // a service of another user could not read what this one writes
  const lock = lockDataFolder(config.dataDir);
  try {
    const { kept, revived } = await restore(config, backup);
    process.stdout.write(`restored ${backup}\n`);
    if (kept !== undefined) process.stdout.write(`kept what was there: ${kept}\n`);
    if (revived === undefined) process.stdout.write('what was there can not be compared: see what was revoked in it\n');
    for (const line of revived ?? []) process.stdout.write(`valid again: ${line}\n`);
  } finally {
    lock.release();
  }
}

async function restore({ databaseUrl, dataDir }: Config, backup: string): Promise<Restored> {
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  if (databaseUrl === undefined) return restoreSqlite(dataDir, backup, time);
  const restored = await restorePostgres(databaseUrl, backup, time);
  placeKey(dataDir, backup);
  return restored;
}

await endWithOneLine(main);
