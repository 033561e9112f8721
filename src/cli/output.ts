/** Text for people: aligned tables, and values as people write them. Colour only on a terminal, and not with NO_COLOR. */
import { styleText } from 'node:util';
import type { Timestamp } from '../../gen/google/protobuf/timestamp.ts';

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  readonly align?: 'right';
}

/** Between two columns. */
export const GAP = '  ';
/** Longer values are cut in tables; JSON has them whole. */
const MAX_CELL = 40;

/** Rows under a line of titles. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const lines = [columns.map(({ title }) => title), ...rows.map((row) => columns.map(({ value }) => cut(value(row))))];
  const widths = columns.map((_, index) => Math.max(...lines.map((cells) => widthOf(cells[index] ?? ''))));
  const [titles = '', ...body] = lines.map((cells) =>
    columns
      .map(({ align }, index) => pad(cells[index] ?? '', widths[index] ?? 0, align))
      .join(GAP)
      .trimEnd(),
  );
  return [bold(titles), ...body].join('\n');
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

/** `2026-07-01 09:30:00Z`, for people. */
export function moment(timestamp: Timestamp | undefined): string | undefined {
  return rfc3339(timestamp)?.replace('T', ' ').replace(/\.\d+/, '');
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

function cut(text: string): string {
  const characters = [...graphemes.segment(printable(text))].map(({ segment }) => segment);
  return characters.length > MAX_CELL ? `${characters.slice(0, MAX_CELL - 1).join('')}…` : characters.join('');
}

function pad(text: string, width: number, align: 'right' | undefined): string {
  const space = ' '.repeat(width - widthOf(text));
  return align === 'right' ? space + text : text + space;
}
