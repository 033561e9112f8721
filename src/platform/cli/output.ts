/** What commands print: text for people, and JSON for programs. */
import type { Timestamp } from '../../../gen/google/protobuf/timestamp.ts';
import { nameOf, PERMISSIONS, PLANS, toMs, WINDOWS } from '../access/admin/admin-messages.ts';

/** Values by their names. An id is a bigint, a count a number. */
export type Fields = Readonly<Record<string, string | number | bigint | undefined>>;

const GAP = '  ';

/** A name and a value per line. Undefined values are left out. */
export function card(fields: Fields): string {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined);
  const width = Math.max(...known.map(([name]) => name.length));
  return known.map(([name, value]) => `${name.padEnd(width)}${GAP}${format(value)}`).join('\n');
}

/** A line per row, under the names of those fields that one of them has. */
export function table(rows: readonly Fields[]): string {
  const names = Object.keys(rows[0] ?? {}).filter((name) => rows.some((row) => row[name] !== undefined));
  const columns = names.map((name) => {
    const cells = [name.toUpperCase(), ...rows.map((row) => format(row[name]))];
    const isNumber = rows.every((row) => typeof row[name] !== 'string');
    const width = Math.max(...cells.map(({ length }) => length));
    return cells.map((cell) => (isNumber ? cell.padStart(width) : cell.padEnd(width)));
  });
  const lines = ['titles', ...rows].map((_, line) => columns.map((cells) => cells[line]).join(GAP));
  return lines.map((line) => line.trimEnd()).join('\n');
}

function format(value: Fields[string]): string {
  return typeof value === 'number' ? count(value) : printable(String(value ?? ''));
}

/** Without characters that move the cursor, begin a line or change the direction of a text: labels may have them. */
function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, '\u{fffd}');
}

/** The same JSON without such characters outside of ASCII, which are escaped. All others are escaped in JSON anyway. */
export function printableJson(json: string): string {
  return json.replaceAll(/[\x7f-\x9f\p{Bidi_Control}\u2028\u2029]/gu, (char) => {
    return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** `12,345`. */
export function count(value: number | bigint): string {
  return value.toLocaleString('en-US');
}

/** `2026-07-01T09:30:00.000Z`. */
function rfc3339(time: Timestamp | undefined): string | undefined {
  return time && new Date(toMs(time) ?? 0).toISOString();
}

/** `2026-07-01 09:30:00Z`. */
export function moment(time: Timestamp | undefined): string | undefined {
  return rfc3339(time)?.replace('T', ' ').replace(/\.\d+/, '');
}

/** Messages of the admin service as JSON: int64 as numbers, times by RFC 3339, enums by their names. */
export function toJson(messages: unknown): string {
  const convert = (name: string, value: unknown) => {
    if (typeof value === 'bigint') return Number(value);
    if (name.endsWith('Time')) return rfc3339(value as Timestamp | undefined);
    if (name === 'plan') return nameOf(PLANS, value);
    if (name === 'permission') return nameOf(PERMISSIONS, value);
    return name === 'window' ? nameOf(WINDOWS, value) : value;
  };
  return printableJson(JSON.stringify(messages, convert, 2));
}
