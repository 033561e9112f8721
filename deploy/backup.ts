/**
 * Backs up the service's data while the service runs: a copy of the SQLite file or a dump of the PostgreSQL database,
 * and the operator's key. It reads the service's settings. It checks a backup before it gives it its name, and then
 * deletes the oldest ones. docs/operations.md says what else to back up. `deploy/restore.ts` restores a backup.
 */
import {
  closeSync,
  copyFileSync,
  existsSync,
  globSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { DATABASE_FILE, NAME } from '../src/identity.ts';
import { type Config, ConfigError, readConfig } from '../src/platform/config/config.ts';
import { makePrivate, makeTrusted, PRIVATE_UMASK } from '../src/platform/files/private-folder.ts';
import { checkSqlite, copySqlite } from './check-sqlite.ts';
import { endWithOneLine } from './one-line.ts';
import { refusePooler, runProgram, schemaOf } from './postgres-program.ts';
import { sync } from './restore-sqlite.ts';

const HELP = `Usage: node deploy/backup.ts --to FOLDER [--keep COUNT]

Backs up the database of DATABASE_URL, or the SQLite file in DATA_DIR, into the folder while the service runs:
${NAME}-<UTC time>.sqlite or .dump, and beside it the operator's key where there is one in DATA_DIR.
PostgreSQL needs pg_dump of the server's version or a later one.

  --to FOLDER   where the backups are; made if it is not there, closed to other users
  --keep COUNT  how many backups are kept, this one among them (14)
`;
const FAILED = [
  `# HELP ${NAME}_backup_failed 1 when the last run of deploy/backup.ts failed, 0 when it made a backup.`,
  `# TYPE ${NAME}_backup_failed gauge`,
];
const LAST_SUCCESS = [
  `# HELP ${NAME}_backup_last_success_timestamp_seconds When the last backup was made and checked, as Unix time.`,
  `# TYPE ${NAME}_backup_last_success_timestamp_seconds gauge`,
];
/** How long nothing has written to a file of a run that was killed. */
const UNFINISHED_MS = 3_600_000;

async function main(): Promise<void> {
  process.umask(PRIVATE_UMASK);
  const options = {
    to: { type: 'string' },
    keep: { type: 'string', default: '14' },
    help: { type: 'boolean' },
  } as const;
  const { values } = parseArgs({ options });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  if (!values.to) throw new ConfigError('--to must name the folder of the backups');
  if (!/^[1-9]\d{0,3}$/.test(values.keep)) throw new ConfigError('--keep must be a number from 1 to 9999');
  const folder = resolve(values.to);
  await makeTrusted(folder);

  const config = readConfig();
  await refusePooler(config.databaseUrl);
  if (existsSync(config.dataDir)) await makePrivate(config.dataDir); // its user reads the metrics and the backup
  try {
    await backUp(config, folder, Number(values.keep));
    writeMetrics(config, true);
  } catch (error) {
    try {
      writeMetrics(config, false);
    } catch {
      // A full disk may be the reason for both. The first error says what is missing.
    }
    throw error;
  }
}

async function backUp(config: Config, folder: string, keep: number): Promise<void> {
  deleteUnfinished(folder);
  const { databaseUrl } = config;
  const ending = databaseUrl === undefined ? '.sqlite' : '.dump';
  const name = await takeName(folder, ending);
  const backup = whole(name + ending, (part) =>
    databaseUrl === undefined ? backUpSqlite(config, part) : backUpPostgres(databaseUrl, part),
  );
  const key = join(config.dataDir, 'operator.key');
  if (existsSync(key)) whole(`${name}.operator.key`, (part) => copyFileSync(key, part));
  process.stdout.write(`${backup}\n`);
  deleteOldest(folder, basename(backup), keep);
}

/** Takes the name of this second, by an empty unfinished file. If another run has it, waits for the next second. */
async function takeName(folder: string, ending: string): Promise<string> {
  for (;;) {
    const name = join(folder, `${NAME}-${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}`);
    const part = partOf(name + ending);
    try {
      closeSync(openSync(part, 'wx'));
      if (!existsSync(name + ending)) return name;
      rmSync(part);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    await delay(100);
  }
}

/** Leaves the result and the time of the last success for METRICS_PORT, in Prometheus's text format. */
function writeMetrics({ dataDir }: Config, isMade: boolean): void {
  if (!existsSync(dataDir)) return; // the run has failed because of that
  const file = join(dataDir, 'backup.prom');
  const earlier = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(3) : [''];
  const success = isMade
    ? [...LAST_SUCCESS, `${NAME}_backup_last_success_timestamp_seconds ${Date.now() / 1_000}`, '']
    : earlier;
  const text = [...FAILED, `${NAME}_backup_failed ${isMade ? 0 : 1}`, ...success].join('\n');
  whole(file, (part) => writeFileSync(part, text), `${file}.${process.pid}`); // another run may end at the same time
}

/** Deletes what runs left behind that were killed. A run writes to its file all the time. */
function deleteUnfinished(folder: string): void {
  for (const name of globSync(`${NAME}-*.part*`, { cwd: folder })) {
    if (statSync(join(folder, name)).mtimeMs < Date.now() - UNFINISHED_MS) rmSync(join(folder, name));
  }
}

/** Writes a consistent copy without deleted data. It does not block readers and writers. */
function backUpSqlite({ dataDir }: Config, part: string): void {
  const file = join(dataDir, DATABASE_FILE);
  if (!existsSync(file)) throw new ConfigError(`there is no ${file}: is DATA_DIR the service's?`);
  copySqlite(file, part);
  checkSqlite(part);
}

function backUpPostgres(databaseUrl: string, part: string): void {
  // Not what deploy/restore.ts has kept.
  runProgram('pg_dump', ['--format=custom', '--exclude-schema=before_restore_*', `--file=${part}`], databaseUrl);
  runProgram('pg_restore', ['--file=/dev/null', part]); // reads all of it
  schemaOf(part, 'the database of DATABASE_URL');
}

function partOf(file: string): string {
  return `${file}.part`;
}

/** Writes a file under a temporary name, and renames it when it is complete and durable. */
function whole(file: string, make: (part: string) => void, part = partOf(file)): string {
  try {
    make(part);
    sync(part);
    renameSync(part, file);
    sync(dirname(file));
  } finally {
    rmSync(part, { force: true });
  }
  return file;
}

/** Keeps `made` whatever its name: the clock may have been set back. */
function deleteOldest(folder: string, made: string, keep: number): void {
  const others = globSync(`${NAME}-*T*Z.{sqlite,dump}`, { cwd: folder }).filter((name) => name !== made);
  const newestFirst = others.sort().reverse();
  for (const backup of newestFirst.slice(keep - 1)) {
    rmSync(join(folder, backup));
    rmSync(join(folder, backup.replace(/\.\w+$/, '.operator.key')), { force: true });
  }
}

await endWithOneLine(main);
