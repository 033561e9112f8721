/**
 * Formats rows of cells as lines of text, each column as wide as its widest cell. Columns whose index is in
 * `rightAligned` are aligned to the right.
 */
export function toColumns(rows: readonly (readonly string[])[], rightAligned: readonly number[] = []): string[] {
  const count = Math.max(...rows.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return rightAligned.includes(column) ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd(),
  );
}

/** Formats 1234567 as "1,234,567". */
export function formatCount(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}
