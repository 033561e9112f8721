/** What commands print: text for people, bold only on a terminal and without NO_COLOR, and JSON for programs. */
import { styleText } from 'node:util';
import type { Timestamp } from '../../gen/google/protobuf/timestamp.ts';
import { PLANS, toMs, WINDOWS } from '../services/admin-messages.ts';

/** Values by their names. An id is a bigint, a count a number. */
export type Fields = Readonly<Record<string, string | number | bigint | undefined>>;

const GAP = '  ';
/** The least width of a column that is cut. */
const MIN_WIDTH = 8;

/** A name and a value per line. Undefined values are left out. */
export function card(fields: Fields): string {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined);
  const width = Math.max(...known.map(([name]) => name.length));
  return known.map(([name, value]) => `${bold(name.padEnd(width))}${GAP}${format(value)}`).join('\n');
}

/** A line per row, under the names of the fields. Values of the column `cut` are cut to fit the terminal. */
export function table(rows: readonly Fields[], cut?: string): string {
  const columns = Object.keys(rows[0] ?? {}).map((name) => {
    const cells = [name.toUpperCase(), ...rows.map((row) => format(row[name]))];
    const isNumber = rows.every((row) => typeof row[name] !== 'string');
    return { name, cells, isNumber, width: Math.max(...cells.map(({ length }) => length)) };
  });
  const total = columns.reduce((sum, { width }) => sum + GAP.length + width, -GAP.length);
  const excess = Math.max(0, total - (process.stdout.columns ?? total));
  const padded = columns.map(({ name, cells, isNumber, width: natural }) => {
    const width = name === cut ? Math.max(natural - excess, Math.min(natural, MIN_WIDTH)) : natural;
    const fitting = cells.map((cell) => (cell.length > width ? `${cell.slice(0, width - 1)}…` : cell));
    return fitting.map((cell) => (isNumber ? cell.padStart(width) : cell.padEnd(width)));
  });
  const [titles, ...lines] = ['', ...rows].map((_, line) =>
    padded
      .map((cells) => cells[line])
      .join(GAP)
      .trimEnd(),
  );
  return [bold(titles ?? ''), ...lines].join('\n');
}

/** Control characters, which a label may contain, could move the cursor. */
function format(value: Fields[string]): string {
  return typeof value === 'number' ? count(value) : String(value ?? '').replaceAll(/\p{Cc}/gu, '\u{fffd}');
}

export function bold(text: string): string {
  return styleText('bold', text, { stream: process.stdout });
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

/** `2026-07-01`. */
export function day(time: Timestamp | undefined): string | undefined {
  return rfc3339(time)?.slice(0, 'YYYY-MM-DD'.length);
}

/** The name of a plan or window. */
export function nameOf<Name extends string>(names: Readonly<Record<Name, number>>, value: unknown): Name | undefined {
  return (Object.keys(names) as Name[]).find((name) => names[name] === value);
}

/** Messages of the admin service as JSON: int64 as numbers, times by RFC 3339, plans and windows by their names. */
export function toJson(messages: unknown): string {
  const convert = (name: string, value: unknown) => {
    if (typeof value === 'bigint') return Number(value);
    if (name.endsWith('Time')) return rfc3339(value as Timestamp | undefined);
    if (name === 'plan') return nameOf(PLANS, value);
    return name === 'window' ? nameOf(WINDOWS, value) : value;
  };
  return JSON.stringify(messages, convert, 2);
}

/** Help after a command's options: examples without `petstore`, and more text in lines of 80 columns. */
export function examples(lines: readonly string[], text = ''): string {
  return ['\nExamples:', ...lines.map((line) => `  petstore ${line}`), '', text.trim()].join('\n').trimEnd();
}
