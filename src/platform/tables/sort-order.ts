/**
 * The pages of a list, and its order: by one field of its records or several, the last of which tells any
 * two apart. A page is what lies behind a key, up to another one if a range has an end.
 */
import type { SqlValue } from '../storage/statement.ts';
import type { Fields } from './fields.ts';

/** A record's place in the order of a list: its values in the order's columns. */
export type Key = bigint | readonly (bigint | string)[];

/** Asks for a page of a list: at most `limit` rows behind `after` in its order, and before `until`. */
export interface PageRequest {
  readonly after: Key;
  readonly until?: Key | undefined;
  readonly limit: number;
  /** How many bytes the long texts of the page may have together, beyond those of its first row. */
  readonly maxBytes?: number;
}

/** It may have fewer rows than the limit, where they are large. One that `hasMore` has one row at least. */
export interface Page<T> {
  readonly rows: readonly T[];
  readonly hasMore: boolean;
}

export interface SortOrder {
  /** The name of the list, which its statements have: another one for each list of a table. */
  readonly name: string;
  readonly columns: readonly string[];
  /** `text` or `bigint`, by column. */
  readonly types: readonly string[];
  readonly isDescending: boolean;
  /** Before all records. */
  readonly start: Key;
}

/** Ids of the store are above 0. */
export const BY_ID: SortOrder = { name: 'page', columns: ['id'], types: ['bigint'], isDescending: false, start: 0n };

const [LEAST, GREATEST] = [-(2n ** 63n), 2n ** 63n - 1n];

const toPart = (value: SqlValue) => (typeof value === 'string' ? value : BigInt(value as number | bigint));

/**
 * The order of a table's records by these fields, which are integers, instants, or texts, and given in each record. A
 * text can only be the last. Over many rows it needs an index: the columns of the filters, then those of the order.
 */
export function orderBy<R extends object, First extends keyof R>(
  { fields }: { readonly fields: Fields<R> },
  name: string,
  [first, ...rest]: readonly [First, ...(keyof R)[]],
  isDescending = false,
) {
  const parts = [first, ...rest].map((by) => fields[by]);
  const [columns, types] = [parts.flatMap((part) => part.columns), parts.flatMap((part) => part.types)];
  if (parts.some(({ given }) => given.length === 0) || types.slice(0, -1).includes('text'))
    throw new Error(`${name}: an order is of fields that are never absent, and of one text at most, the last`);
  /** Before all records with this value, as they ascend. */
  const edge = (value: R[First]): Key => {
    const given = fields[first].write(value).map(toPart);
    return [...given, ...types.slice(given.length).map((type) => (type === 'text' ? '' : LEAST))];
  };
  const start = types.map((type) => (type === 'text' ? '' : isDescending ? GREATEST : LEAST));
  return {
    ...{ name, columns, types, isDescending, start },
    keyOf: (record: R): Key => [first, ...rest].flatMap((by) => fields[by].write(record[by]).map(toPart)),
    /** Those of the records whose first field is `from` or more, and less than `to`. */
    range(from: R[First] | undefined, to: R[First] | undefined): Pick<PageRequest, 'after' | 'until'> {
      const [begin, end] = (isDescending ? [to, from] : [from, to]).map((at) =>
        at === undefined ? undefined : edge(at),
      );
      return { after: begin ?? start, until: end };
    },
  };
}

/** Whether a key comes behind another one. */
export function isBehind({ isDescending }: SortOrder, one: Key, other: Key): boolean {
  const [own, its] = [[one].flat(), [other].flat()];
  const at = own.findIndex((part, index) => part !== its[index]);
  return at !== -1 && (own[at] ?? 0n) > (its[at] ?? 0n) !== isDescending;
}
