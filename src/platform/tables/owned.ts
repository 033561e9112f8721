/**
 * Tables whose rows belong to an account. Reads and writes can't be had without the owner: `of(call)` makes those of
 * the rows of the caller's account, for which others do not exist.
 *
 * The column is `account_id`; the record does not have it. Each index of a list begins with it. What a rule needs of
 * all rows, whoever has them, is a statement of the table's own, outside of `of`.
 */
import type { Engine, Runner } from '../storage/engine.ts';
import { id, type Table } from './fields.ts';
import type { Owner, OwnerId } from './ids.ts';
import { type Filter, pages } from './pages.ts';
import type { PageRequest } from './sort-order.ts';
import { type Identified, lookup, type ResourceOptions, recordWrites } from './table.ts';

const OWNER = 'account_id';
const OWNERS = id<OwnerId>(OWNER);

/** Like `resource`, for rows that belong to an account. @public for a service of one's own. */
export function ownedResource<R extends Identified>(engine: Engine, table: Table<R>, options: ResourceOptions<R> = {}) {
  const { name, fields, selected, toRecord } = table;
  const { knex } = engine;
  /** The rows of all owners. */
  const all = lookup<{ readonly id: R['id']; readonly owner: OwnerId; readonly record: R }>(engine, {
    name,
    selected: (engine) => [...selected(engine), OWNER],
    toRecord: (row) => ({ id: fields.id.read(row), owner: OWNERS.read(row), record: toRecord(row) }),
  });
  const page = pages(engine, table, (all) => knex(name).select(all), options.order, [OWNER]);
  const writes = recordWrites(engine, table, options, [OWNER]);
  return {
    reads: {
      of: ({ caller: { accountId: owner } }: Owner) => ({
        async find(id: R['id']): Promise<R | undefined> {
          const found = await all.find(id);
          return found?.owner === owner ? found.record : undefined;
        },
        findAll: async (ids: readonly R['id'][]): Promise<readonly R[]> =>
          (await all.findAll(ids)).filter((found) => found.owner === owner).map(({ record }) => record),
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
