/** Many rows in one statement, which is a transaction by itself. */
import type { Knex } from 'knex';
import type { Engine } from './engine.ts';
import type { SqlValue } from './statement.ts';

/**
 * Inserts rows that come as one JSON array of arrays of integers. They are in one order everywhere: servers that share a
 * database must not wait for each other in a circle.
 */
export function insertAll(engine: Engine, table: string, columns: readonly string[], onConflict: string): Knex.Raw {
  const values = columns.map((_, index) => `cast(value ->> ${index} as bigint)`);
  const insert = `insert into ${table} (${columns.join(', ')}) select ${values.join(', ')} from ? order by 1, 2`;
  return engine.knex.raw(`${insert} on conflict ${onConflict}`, [engine.elementsOf('rows')]);
}

/** The greater of a stored total and the one to store, in SQL that every engine has. */
export function greater(table: string, column: string): string {
  const [stored, fresh] = [`${table}.${column}`, `excluded.${column}`];
  return `${column} = case when ${fresh} > ${stored} then ${fresh} else ${stored} end`;
}

/** Rows as a JSON array of arrays, with their numbers to the last digit. */
export function toJson(rows: readonly (readonly SqlValue[])[]): string {
  return `[${rows.map((row) => `[${row.map(toJsonValue).join()}]`).join()}]`;
}

function toJsonValue(value: SqlValue): string {
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}
