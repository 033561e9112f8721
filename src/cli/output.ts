/** Text for people: aligned tables and formatted values. Color only on a terminal, and not with NO_COLOR. */
import { styleText } from 'node:util';
import type { Timestamp } from '../../gen/google/protobuf/timestamp.ts';

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  readonly align?: 'right';
  /** Whether its values may be truncated when the table is too wide. */
  readonly shrinks?: boolean;
}

/** Between two columns. */
export const GAP = '  ';
/** Longer values are truncated in tables, not in JSON. */
const MAX_CELL = 40;

/** The least width of a column that shrinks. */
const MIN_CELL = 8;

/** Rows under a line of titles. If the table is too wide even with shrunk columns, each row becomes a card. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const titles = columns.map(({ title }) => title);
  const cells = rows.map((row) => columns.map(({ value }) => truncate(value(row), MAX_CELL)));
  const widths = fittingWidths(columns, titles, cells);
  if (widths === undefined) return cells.map((row) => card(zip(titles, row))).join('\n\n');
  const lines = [titles, ...cells].map((line) =>
    columns
      .map(({ align }, index) => pad(truncate(line[index] ?? '', widths[index] ?? 0), widths[index] ?? 0, align))
      .join(GAP)
      .trimEnd(),
  );
  return [bold(lines[0] ?? ''), ...lines.slice(1)].join('\n');
}

/** The columns' widths, reduced where they may shrink; undefined if the table is still too wide. */
function fittingWidths<Row>(
  columns: readonly Column<Row>[],
  titles: readonly string[],
  cells: readonly (readonly string[])[],
): number[] | undefined {
  const natural = columns.map((_, index) => Math.max(...[titles, ...cells].map((row) => widthOf(row[index] ?? ''))));
  const total = natural.reduce((sum, width) => sum + width, GAP.length * (columns.length - 1));
  let excess = total - outputWidth(Number.POSITIVE_INFINITY);
  const widths = natural.map((width, index) => {
    const spare = columns[index]?.shrinks ? Math.max(0, width - MIN_CELL) : 0;
    const less = Math.max(0, Math.min(spare, excess));
    excess -= less;
    return width - less;
  });
  return excess > 0 && columns.some(({ shrinks }) => shrinks) ? undefined : widths;
}

/** The fields of a card from a row: titles in lower case, without empty cells. */
function zip(titles: readonly string[], cells: readonly string[]): Record<string, string | undefined> {
  return Object.fromEntries(titles.map((title, index) => [title.toLowerCase(), cells[index] || undefined]));
}

/** The width of the terminal, or of COLUMNS, or else `fallback`. */
export function outputWidth(fallback: number): number {
  return process.stdout.columns ?? (Number(process.env.COLUMNS) || fallback);
}

/** A name and a value per line. Undefined values are left out. */
export function card(fields: Readonly<Record<string, string | undefined>>): string {
  const known = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const width = Math.max(...known.map(([name]) => name.length));
  return known.map(([name, value]) => `${bold(name.padEnd(width))}${GAP}${printable(value)}`).join('\n');
}

export function bold(text: string): string {
  return styleText('bold', text, { stream: process.stdout });
}

/** `12,345`. */
export function count(value: number | bigint): string {
  return value.toLocaleString('en-US');
}

/** RFC 3339 in UTC, for JSON. */
export function rfc3339(timestamp: Timestamp | undefined): string | undefined {
  return timestamp && toDate(timestamp).toISOString();
}

/** `2026-07-01 09:30:00Z`, for people, from a timestamp or from RFC 3339. */
export function moment(time: Timestamp | string | undefined): string | undefined {
  const text = typeof time === 'string' ? time : rfc3339(time);
  return text?.replace('T', ' ').replace(/\.\d+/, '');
}

/** A time without its seconds, `2026-07-01 09:30Z`. */
export function minuteOf(timestamp: Timestamp | undefined): string | undefined {
  return moment(timestamp)?.replace(/:\d\dZ$/, 'Z');
}

/** The day of a time, `2026-07-01`. */
export function date(timestamp: Timestamp | undefined): string | undefined {
  return moment(timestamp)?.slice(0, 'YYYY-MM-DD'.length);
}

/** A time that is shown after another, without its day when that is the same. */
export function momentAfter(first: Timestamp | undefined, second: Timestamp | undefined): string | undefined {
  const text = moment(second);
  return date(first) === date(second) ? text?.slice('YYYY-MM-DD '.length) : text;
}

export function toDate({ seconds, nanos }: Timestamp): Date {
  return new Date(Number(seconds) * 1_000 + Math.floor(nanos / 1_000_000));
}

/** Replaces control characters, which could move the cursor: a label may contain them. */
function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '\u{fffd}');
}

const graphemes = new Intl.Segmenter();
/** Characters that are two columns wide: emoji and East Asian wide characters. */
const WIDE = /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60\uffe0-\uffe6]/u;

function widthOf(text: string): number {
  return [...graphemes.segment(text)].reduce((width, { segment }) => width + (WIDE.test(segment) ? 2 : 1), 0);
}

/** A text truncated to `width` columns, without control characters. */
function truncate(text: string, width: number): string {
  const full = printable(text);
  if (widthOf(full) <= width) return full;
  let [kept, used] = ['', 0];
  for (const { segment } of graphemes.segment(full)) {
    used += widthOf(segment);
    if (used >= width) break;
    kept += segment;
  }
  return `${kept}…`;
}

function pad(text: string, width: number, align: 'right' | undefined): string {
  const space = ' '.repeat(width - widthOf(text));
  return align === 'right' ? space + text : text + space;
}
