/** Text for people: aligned tables, and values as people write them. Colour only on a terminal, and not with NO_COLOR. */
import { styleText } from 'node:util';
import type { Timestamp } from '../../gen/google/protobuf/timestamp.ts';

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  readonly align?: 'right';
  /** Where there is no room for all columns, its values may be cut. */
  readonly shrinks?: boolean;
}

/** Between two columns. */
export const GAP = '  ';
/** Longer values are cut in tables; JSON has them whole. */
const MAX_CELL = 40;

/** A column that shrinks keeps so many characters at least. */
const MIN_CELL = 8;

/** Rows under a line of titles. Where columns that shrink are too wide all the same, each row is a card of its own. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const titles = columns.map(({ title }) => title);
  const cells = rows.map((row) => columns.map(({ value }) => cut(value(row), MAX_CELL)));
  const widths = fittingWidths(columns, titles, cells);
  if (widths === undefined) return cells.map((row) => card(zip(titles, row))).join('\n\n');
  const lines = [titles, ...cells].map((line) =>
    columns
      .map(({ align }, index) => pad(cut(line[index] ?? '', widths[index] ?? 0), widths[index] ?? 0, align))
      .join(GAP)
      .trimEnd(),
  );
  return [bold(lines[0] ?? ''), ...lines.slice(1)].join('\n');
}

/** The columns' widths: what they need, or less where they may shrink; undefined if that is still too wide. */
function fittingWidths<Row>(
  columns: readonly Column<Row>[],
  titles: readonly string[],
  cells: readonly (readonly string[])[],
): number[] | undefined {
  const wanted = columns.map((_, index) => Math.max(...[titles, ...cells].map((row) => widthOf(row[index] ?? ''))));
  const total = wanted.reduce((sum, width) => sum + width, GAP.length * (columns.length - 1));
  let excess = total - outputWidth(Number.POSITIVE_INFINITY);
  const widths = wanted.map((width, index) => {
    const spare = columns[index]?.shrinks ? Math.max(0, width - MIN_CELL) : 0;
    const less = Math.max(0, Math.min(spare, excess));
    excess -= less;
    return width - less;
  });
  return excess > 0 && columns.some(({ shrinks }) => shrinks) ? undefined : widths;
}

/** A card's fields from a row: titles in lower case, and nothing where a cell is empty. */
function zip(titles: readonly string[], cells: readonly string[]): Record<string, string | undefined> {
  return Object.fromEntries(titles.map((title, index) => [title.toLowerCase(), cells[index] || undefined]));
}

/** The width of the terminal, or what COLUMNS says. An output that is neither may be as wide as `otherwise`. */
export function outputWidth(otherwise: number): number {
  return process.stdout.columns ?? (Number(process.env.COLUMNS) || otherwise);
}

/** One thing: a name and a value a line. Values that are undefined are left out. */
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

/** `2026-07-01 09:30:00Z`, for people: of a timestamp, or of its RFC 3339. */
export function moment(time: Timestamp | string | undefined): string | undefined {
  const text = typeof time === 'string' ? time : rfc3339(time);
  return text?.replace('T', ' ').replace(/\.\d+/, '');
}

/** The same to the minute, `2026-07-01 09:30Z`. */
export function minuteOf(timestamp: Timestamp | undefined): string | undefined {
  return moment(timestamp)?.replace(/:\d\dZ$/, 'Z');
}

/** The day alone, `2026-07-01`. */
export function date(timestamp: Timestamp | undefined): string | undefined {
  return moment(timestamp)?.slice(0, 'YYYY-MM-DD'.length);
}

/** A moment that is read after another: without its day when that is the same. */
export function momentAfter(first: Timestamp | undefined, second: Timestamp | undefined): string | undefined {
  const text = moment(second);
  return date(first) === date(second) ? text?.slice('YYYY-MM-DD '.length) : text;
}

export function toDate({ seconds, nanos }: Timestamp): Date {
  return new Date(Number(seconds) * 1_000 + Math.floor(nanos / 1_000_000));
}

/** Control characters could move the cursor: a label may hold any. */
function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '\u{fffd}');
}

const graphemes = new Intl.Segmenter();
/** Characters that take two columns: emoji, and the wide ones of East Asia. */
const WIDE = /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60\uffe0-\uffe6]/u;

function widthOf(text: string): number {
  return [...graphemes.segment(text)].reduce((width, { segment }) => width + (WIDE.test(segment) ? 2 : 1), 0);
}

/** At most so many columns of a text, without what could move the cursor. */
function cut(text: string, width: number): string {
  const whole = printable(text);
  if (widthOf(whole) <= width) return whole;
  let [kept, used] = ['', 0];
  for (const { segment } of graphemes.segment(whole)) {
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
