/** Statements that insert or update many rows at once. */
import type { Knex } from 'knex';
import type { Engine } from './engine.ts';
import type { SqlValue } from './statement.ts';

/**
 * Inserts the rows of a JSON array of arrays of integers. The rows are sorted, so that two servers lock them in the
 * same order and can't deadlock.
 */
export function insertAll(engine: Engine, table: string, columns: readonly string[], onConflict: string): Knex.Raw {
  const values = columns.map((_, index) => `cast(value ->> ${index} as bigint)`);
  const insert = `insert into ${table} (${columns.join(', ')}) select ${values.join(', ')} from ? order by 1, 2`;
  return engine.knex.raw(`${insert} on conflict ${onConflict}`, [engine.elementsOf('rows')]);
}

/** SQL that updates a column to the greater of the stored and the new value, on every engine. */
export function setGreater(table: string, column: string): string {
  const [stored, fresh] = [`${table}.${column}`, `excluded.${column}`];
  return `${column} = case when ${fresh} > ${stored} then ${fresh} else ${stored} end`;
}

/** Encodes rows as a JSON array of arrays. Bigints keep all of their digits. */
export function toJson(rows: readonly (readonly SqlValue[])[]): string {
  return `[${rows.map((row) => `[${row.map(toJsonValue).join()}]`).join()}]`;
}

function toJsonValue(value: SqlValue): string {
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}
