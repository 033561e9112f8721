/**
 * Converts values to and from PostgreSQL.
 *
 * PostgreSQL's text type does not support U+0000, which is valid in a caller's text. It is stored as the two characters
 * U+001A "0", and U+001A itself as U+001A "1".
 */
import type { Row } from './row.ts';
import type { SqlValue } from './statement.ts';

const ESCAPE = '\x1a';

export function toPostgres(value: SqlValue): SqlValue {
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'string') return encodeText(value);
  return value;
}

/** Decodes the texts of a row, in place. */
export function decodeRow(row: Record<string, unknown>): Row {
  for (const [name, value] of Object.entries(row)) {
    if (typeof value === 'string' && value.includes(ESCAPE)) row[name] = decodeText(value);
  }
  return row;
}

function encodeText(text: string): string {
  if (!text.includes('\0') && !text.includes(ESCAPE)) return text;
  return text.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll('\0', `${ESCAPE}0`);
}

function decodeText(text: string): string {
  return text.replaceAll(`${ESCAPE}0`, '\0').replaceAll(`${ESCAPE}1`, ESCAPE);
}
