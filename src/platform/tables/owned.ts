/**
 * Tables whose rows belong to an account. Reads and writes can't be had without the owner: `of(call)` makes those of
 * the rows of the caller's account, for which others do not exist.
 *
 * The column is `account_id`; the record does not have it. Each index of a list begins with it. What a rule needs of
 * all rows, whoever has them, is a statement of the table's own, outside of `of`.
 */
import type { Engine, Runner } from '../storage/engine.ts';
import { compile } from '../storage/statement.ts';
import { mayBe, type Owner, type OwnerId, type PageRequest } from './model.ts';
import { type Filter, pages } from './pages.ts';
import { sharedReads } from './shared-reads.ts';
import { type ResourceOptions, recordWrites, type Table } from './table.ts';

const OWNER = 'account_id';

/** Like `resource`, for rows that belong to an account. */
export function ownedResource<R extends { readonly id: bigint | string }>(
  engine: Engine,
  table: Table<R>,
  options: ResourceOptions<R> = {},
) {
  const { name, selected, toRecord } = table;
  const { knex, reader } = engine;
  interface Asked {
    readonly owner: OwnerId;
    readonly id: R['id'];
  }
  const nameOf = ({ owner, id }: Asked) => `${owner} ${id}`;
  const query = engine.whereIdIn(knex(name).select([...selected(engine), OWNER]), 'id').orderBy('id');
  const byIds = compile(`${name}.by_ids`, query);
  /** The rows of all owners with these ids, by their names. */
  const rowsOf = async (ids: readonly R['id'][]) =>
    new Map((await reader.all(byIds, { ids: ids.filter(mayBe) })).map((row) => [`${row[OWNER]} ${row.id}`, row]));
  const find = sharedReads<Asked, R | undefined>(async (asked) => {
    const rows = await rowsOf(asked.map(({ id }) => id));
    return asked.map((one) => {
      const row = rows.get(nameOf(one));
      return row && toRecord(row);
    });
  }, nameOf);
  const page = pages(engine, table, (all, given) => knex(name).select(all).where(OWNER, given(OWNER)), options.order);
  const writes = recordWrites(engine, table, options, [OWNER]);
  return {
    reads: {
      of: ({ caller: { accountId: owner } }: Owner) => ({
        find: (id: R['id']) => find({ owner, id }),
        /** Every record of `ids` that exists, in ascending order of id. */
        async findAll(ids: readonly R['id'][]): Promise<readonly R[]> {
          const rows = await rowsOf(ids);
          return [...rows].flatMap(([name, row]) => (name.startsWith(`${owner} `) ? toRecord(row) : []));
        },
        page: (request: PageRequest, filter: Filter<R> = {}) => page(request, filter, { [OWNER]: owner }),
      }),
    },
    writes: (tx: Runner) => ({
      of: ({ caller }: Owner) =>
        writes({ all: (statement, params) => tx.all(statement, { ...params, [OWNER]: caller.accountId }) }),
    }),
  };
}

/** Whether a store has a table whose rows belong to an account. */
export function hasOwners(store: object): boolean {
  return Object.values(store).some((table) => typeof table === 'object' && table !== null && 'of' in table);
}
