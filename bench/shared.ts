/** What the servers of a stack share: PostgreSQL and Redis, which databases.ts starts; with SQLite nothing. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child } from '../src/launcher/child.ts';
import { LogFile } from '../src/logging/log-file.ts';
import { postgresMissing } from '../test/support/postgres.ts';
import { MISSING_REDIS } from '../test/support/redis.ts';
import { withLogs } from './logs.ts';
import { type Options, UsageError } from './options.ts';
import { isDurable } from './postgres.ts';
import type { Progress } from './progress.ts';
import type { Counted } from './stacks.ts';

const DATABASES = fileURLToPath(new URL('databases.ts', import.meta.url));
/** More than a server's pool has, and some for those who fill and look. */
const CONNECTIONS_PER_SERVER = 12;
const MORE_CONNECTIONS = 40;
/** To stop takes moments, but a start that is under way is finished first. */
const STOP_MS = 40_000;

/** What databases.ts says. */
export interface Databases {
  /** Of the servers of each stack. */
  readonly settings: readonly Readonly<Record<string, string>>[];
  /** The processes that are the benchmark's own. */
  readonly counted: Counted;
}

export interface Shared {
  /** Settings for the servers of one more stack, with an empty database. */
  nextSettings(): Readonly<Record<string, string>>;
  readonly counted: Counted;
  /** Rejects when the databases are not looked after any more. */
  readonly ended: Promise<never>;
}

/** The settings are empty, rather than absent, so that the user's own of the same names don't reach the servers. */
export const NO_DATABASES: Shared = {
  nextSettings: () => ({ DATABASE_URL: '', REDIS_URL: '' }),
  counted: {},
  ended: new Promise(() => undefined),
};

/** Starts what `stacks` stacks need. It stops with `cleanUp`. */
export async function startShared(
  { engine, instances }: Options,
  stacks: number,
  logDir: string,
  cleanUp: AsyncDisposableStack,
  progress: Progress,
): Promise<Shared> {
  if (engine === 'sqlite') return NO_DATABASES;
  progress.update('Starting PostgreSQL and Redis …');
  const connections = stacks * instances * CONNECTIONS_PER_SERVER + MORE_CONNECTIONS;
  const child = new Child(
    'the process of the databases',
    process.execPath,
    [DATABASES, `${stacks}`, `${connections}`],
    {
      ipc: true,
      log: new LogFile(join(logDir, 'databases.log')),
    },
  );
  cleanUp.defer(() => child.stop(STOP_MS));
  const explain = async (error: unknown): Promise<never> => {
    throw await withLogs(error, [child.log.path]);
  };
  const { settings, counted } = (await child.message().catch(explain)) as Databases;
  const ended = child.failure().catch(explain);
  ended.catch(() => undefined); // whoever measures looks at it
  await noteWhatIsGiven(settings[0]?.DATABASE_URL, counted, progress);
  const left = [...settings];
  return {
    nextSettings() {
      const next = left.shift();
      if (next === undefined) throw new RangeError(`there are databases for ${stacks} stacks`);
      return next;
    },
    counted,
    ended,
  };
}

/** @throws UsageError when this machine has not what the options ask for. */
export function checkPrograms({ engine }: Options): void {
  if (engine === 'sqlite') return;
  const missing = [
    ...(postgresMissing === undefined ? [] : ['PostgreSQL (apt-get install postgresql, or set TEST_DATABASE_URL)']),
    ...(MISSING_REDIS === undefined ? [] : ['Redis (apt-get install redis-server, or set TEST_REDIS_URL)']),
  ];
  if (missing.length > 0) throw new UsageError(`--engine postgres needs ${missing.join(' and ')}`);
}

async function noteWhatIsGiven(url: string | undefined, counted: Counted, progress: Progress): Promise<void> {
  const given = [
    ...(counted.postgres === undefined ? ['PostgreSQL of TEST_DATABASE_URL'] : []),
    ...(counted.redis === undefined ? ['Redis of TEST_REDIS_URL'] : []),
  ];
  for (const name of given) {
    progress.note(`The ${name} is used. Its CPU time is not counted; on this machine it counts as another program's.`);
  }
  if (url !== undefined && !(await isDurable(url))) {
    progress.note('PostgreSQL runs without fsync or synchronous_commit: a POST is not durable when it is answered.');
  }
}
