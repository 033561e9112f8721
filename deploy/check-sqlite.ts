/** Checks a copy of a SQLite database. */
import { DatabaseSync } from 'node:sqlite';
import { ConfigError } from '../src/config.ts';

/** Reads the whole file. Throws ConfigError with the first fault. */
export function checkSqlite(file: string): void {
  const copy = new DatabaseSync(file, { readOnly: true });
  const found = String(copy.prepare('PRAGMA integrity_check(1)').get()?.integrity_check);
  copy.close();
  if (found !== 'ok') throw new ConfigError(`${file} is damaged: ${found.trim().replaceAll('\n', ' ')}`);
}
