/**
 * `npm run sql`: prints every statement of the tables by its name, as SQLite has it; of pages those without a filter.
 * It calls each method of each table with arguments that may be anything, on a runner that keeps the statements.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as settled } from 'node:timers/promises';
import type { Engine, Runner } from '../src/platform/storage/engine.ts';
import { openSqlite } from '../src/platform/storage/sqlite.ts';
import { MIGRATIONS, TABLES } from '../src/schema.ts';

/** Has every member but the end of a range, is no list of anything, and is 1 where a number is needed. */
const anything: unknown = new Proxy(() => undefined, {
  has: () => true,
  get(_, name) {
    if (name === Symbol.iterator) return [].values.bind([]);
    if (name === 'map') return () => [];
    if (name === 'until') return undefined;
    return name === Symbol.toPrimitive ? () => 1 : anything;
  },
});

const folder = mkdtempSync(join(tmpdir(), 'sql-'));
const opened = await openSqlite(join(folder, 'sql.sqlite'), MIGRATIONS);
const statements = new Map<string, string>();
/** Names that two statements have. PostgreSQL refuses the second of them when it runs. */
const twice = new Set<string>();
const reader: Runner = {
  async all({ name, sql }) {
    if ((statements.get(name) ?? sql) !== sql) twice.add(name);
    statements.set(name, sql);
    return [{ key: 1, time_ms: -1 }]; // an old row, which is to be deleted
  },
};
const engine: Engine = { ...opened, reader };

for (const make of Object.values(TABLES)) {
  const { reads, writes } = make(engine);
  for (const method of Object.values({ ...reads, ...writes(reader) })) {
    // Most fail afterwards: that row is none of theirs.
    const call = async () => (method as (...args: unknown[]) => unknown)(anything, anything, anything);
    void call().catch(() => undefined);
  }
}
await settled();
await opened.close();
rmSync(folder, { recursive: true });

for (const name of twice) process.stderr.write(`two statements are named ${name}\n`);
if (twice.size > 0) process.exitCode = 1;
for (const name of [...statements.keys()].sort()) {
  process.stdout.write(`${name}\n  ${statements.get(name)?.replaceAll(/\s+/g, ' ')}\n`);
}
