/** Makes and checks a copy of a SQLite database. */
import { DatabaseSync } from 'node:sqlite';
import { TITLE } from '../src/identity.ts';
import { ConfigError } from '../src/platform/config/config.ts';
import { UNKNOWN_MIGRATIONS } from './restored-data.ts';

/**
 * Reads the whole file: its integrity, its foreign keys, and whether this release knows its schema. Throws ConfigError
 * with the first fault, which gives the file the name `name`.
 */
export function checkSqlite(file: string, name = file): void {
  const copy = new DatabaseSync(file, { readOnly: true });
  const first = (sql: string) => Object.values(copy.prepare(sql).get() ?? {})[0];
  try {
    const found = String(first('PRAGMA integrity_check(1)'));
    if (found !== 'ok') throw new ConfigError(`${name} is damaged: ${found.trim().replaceAll('\n', ' ')}`);
    if (!first("SELECT count(*) FROM pragma_table_info('schema_migrations') WHERE name = 'additive'")) {
      throw new ConfigError(`${name} is no backup of the ${TITLE}: it has none of its tables`);
    }
    const orphan = first('PRAGMA foreign_key_check');
    if (orphan !== undefined) throw new ConfigError(`${name} is damaged: ${orphan} refers to a row that is not there`);
    const unknown = first(UNKNOWN_MIGRATIONS);
    if (unknown !== undefined) {
      throw new ConfigError(`${name} has the migration ${unknown} of a newer release: restore it with that one`);
    }
  } finally {
    copy.close();
  }
}

/** Copies what the latest transaction left, from the write-ahead log too, while others read and write. */
export function copySqlite(file: string, to: string): void {
  let from: DatabaseSync | undefined;
  try {
    from = new DatabaseSync(file, { readOnly: true });
    from.prepare('VACUUM INTO ?').run(to);
  } catch (error) {
    throw new ConfigError(`${file} can't be copied to ${to}: ${(error as Error).message}`);
  } finally {
    from?.close();
  }
}
