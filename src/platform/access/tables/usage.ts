/** The `usage` and `key_uses` tables: what each account used on each day, and when each key was last used. */
import type { AccountId, KeyId } from '../../rpc/caller.ts';
import type { Engine, Runner } from '../../storage/engine.ts';
import { compile, param } from '../../storage/statement.ts';
import { id, integer, optional, table } from '../../tables/fields.ts';
import { onlyRow, put } from '../../tables/table.ts';

export interface KeyUse {
  readonly keyId: KeyId;
  readonly lastUsedAtMs: number;
}

/** The totals of an account's day. Storing a row twice is the same as once; of two rows the greater totals win. */
export interface DayUsage {
  readonly accountId: AccountId;
  /** Days since 1970-01-01, UTC. */
  readonly dayIndex: number;
  readonly requests: number;
  readonly refused: number;
}

const USAGE = table<DayUsage>('usage', {
  accountId: id<AccountId>('account_id'),
  dayIndex: integer('day_index'),
  requests: integer('requests'),
  refused: integer('refused'),
});

const KEY_USES = table<KeyUse>('key_uses', {
  keyId: id<KeyId>('key_id'),
  lastUsedAtMs: integer('last_used_at_ms'),
});

/** SQL for the greater of the stored and the new value, on every engine. */
function greater(name: string): (column: string) => string {
  return (column) =>
    `case when excluded.${column} > ${name}.${column} then excluded.${column} else ${name}.${column} end`;
}

export function usageTable(engine: Engine) {
  const { knex, reader } = engine;
  const ofAccount = knex('usage').select(USAGE.columns).where('account_id', param('accountId'));
  const keysOfAccount = knex('api_keys').select('id').where('account_id', param('accountId'));
  const putTotals = put(engine, USAGE, 'accounts', ['account_id', 'day_index'], greater('usage'));
  const putKeyUses = put(engine, KEY_USES, 'api_keys', ['key_id'], greater('key_uses'));
  const statements = {
    ofDay: compile('usage.of_day', knex('usage').select(USAGE.columns).where('day_index', param('dayIndex'))),
    ofAccount: compile(
      'usage.of_account',
      ofAccount.where('day_index', '>=', param('fromDayIndex')).orderBy('day_index'),
    ),
    // Raw SQL since knex drops `returning` from a delete on SQLite.
    deleteBefore: compile(
      'usage.delete_before',
      knex.raw(
        `delete from usage where (account_id, day_index) in
         (select account_id, day_index from usage where day_index < ? order by day_index limit ?) returning account_id`,
        [param('dayIndex'), param('limit')],
      ),
    ),
    lastUses: compile('key_uses.by_keys', engine.whereIdIn(knex('key_uses').select(KEY_USES.columns), 'key_id')),
    lastUseOf: compile(
      'key_uses.of_account',
      knex('key_uses').max('last_used_at_ms as last_used_at_ms').whereIn('key_id', keysOfAccount),
    ),
  };
  return {
    reads: {
      ofDay: async (dayIndex: number) => (await reader.all(statements.ofDay, { dayIndex })).map(USAGE.toRecord),
      /** One account's usage from a day on, in ascending order of day. */
      ofAccount: async (accountId: AccountId, fromDayIndex: number) =>
        (await reader.all(statements.ofAccount, { accountId, fromDayIndex })).map(USAGE.toRecord),
      /** When keys were last used. A key that was never used is absent. */
      lastUses: async (ids: readonly KeyId[]) =>
        (await reader.all(statements.lastUses, { ids })).map(KEY_USES.toRecord),
      /** When any key of an account was last used; undefined when none was. */
      lastUseOf: async (accountId: AccountId) =>
        optional(KEY_USES.fields.lastUsedAtMs).read(onlyRow(await reader.all(statements.lastUseOf, { accountId }))),
    },
    writes: (tx: Runner) => ({
      /** Stores totals of accounts that exist: of two the greater one, since totals only grow. Returns how many. */
      put: putTotals(tx),
      /** Stores when keys that exist were last used. The later time is kept. Returns how many. */
      putKeyUses: putKeyUses(tx),
      /** Deletes at most `limit` rows of days before `dayIndex`. Returns how many it deleted. */
      deleteBefore: async (dayIndex: number, limit: number) =>
        (await tx.all(statements.deleteBefore, { dayIndex, limit })).length,
    }),
  };
}
