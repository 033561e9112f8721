/** The deletion of what is old, with rows that a wrong clock has dated ahead or too early. */
import { compile } from '../../../src/platform/storage/statement.ts';
import { newCategories, runSql, test } from './database.ts';

const NOW_MS = Date.UTC(2026, 6, 1);
const KEPT_MS = 1_000;
/** Old, within its time, and dated ahead. */
const TIMES = { o: NOW_MS - KEPT_MS - 1, n: NOW_MS - KEPT_MS, a: NOW_MS + 1 };

/** The rows in their order, and those that are left after deletions of two rows at a time. */
const CASES = [
  ['ooon', 'n'],
  ['aooon', 'n'],
  ['aaaaaoooaon', 'n'],
  ['aaaaan', 'aaaaan'],
  ['onoan', 'noan'], // nothing behind one that is kept
  ['oan', 'an'],
  ['nnn', 'nnn'],
] as const;

export function retentionTests(): void {
  for (const [rows, left] of CASES) {
    test(`Retention - of rows dated ${rows} deletes all but ${left}, of events and idempotency records`, async (t) => {
      const { store, engine } = t.context;
      await newCategories(store, rows.length);
      const times = Object.entries(TIMES).map(([letter, ms]) => `when '${letter}' then ${ms}`);
      const time = (index: string) => `case substr('${rows}', cast(${index} as integer), 1) ${times.join(' ')} end`;
      await runSql(engine, `update events set time_ms = ${time('id')}`);
      await runSql(
        engine,
        `insert into idempotency_records (id, request_digest, answer, created_at_ms)
          select id, '', '', time_ms from events order by events.id`,
      );
      for (const [table, name, column, order] of [
        ['events', 'events', 'time_ms', 'id'],
        ['idempotency', 'idempotency_records', 'created_at_ms', 'sequence'],
      ] as const) {
        while ((await store.transaction((tx) => tx[table].deleteOldest(2, NOW_MS, KEPT_MS))) > 0);
        const query = engine.knex(name).select(`${column} as ms`).orderBy(order);
        const found = await engine.reader.all(compile(`left.${name}`, query), {});
        const letters = found.map(({ ms }) => Object.entries(TIMES).find(([, time]) => time === Number(ms))?.[0]);
        t.is(letters.join(''), left, name);
      }
    });
  }
}
