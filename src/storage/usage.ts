/** The `usage` and `key_uses` tables: what each account used on each day, and when each key was last used. */
import { type AccountId, type DayUsage, type KeyId, type KeyUse, toAccountId, toKeyId } from '../model.ts';
import { insertAll, setGreater, toJson } from './bulk.ts';
import type { Engine, Runner } from './engine.ts';
import { bigInteger, integer, nullable, onlyRow, type Row } from './row.ts';
import { compile, param } from './statement.ts';

const USAGE = ['account_id', 'day_index', 'requests', 'refused'] as const;
const KEY_USE = ['key_id', 'last_used_at_ms'] as const;

function toUsage(row: Row): DayUsage {
  return {
    accountId: toAccountId(bigInteger(row.account_id)),
    dayIndex: integer(row.day_index),
    requests: integer(row.requests),
    refused: integer(row.refused),
  };
}

function toKeyUse(row: Row): KeyUse {
  return { keyId: toKeyId(bigInteger(row.key_id)), lastUsedAtMs: integer(row.last_used_at_ms) };
}

export function usageStatements(engine: Engine) {
  const { knex } = engine;
  const ofAccount = knex('usage').select(USAGE).where('account_id', param('accountId'));
  const totals = `${setGreater('usage', 'requests')}, ${setGreater('usage', 'refused')}`;
  const keysOfAccount = knex('api_keys').select('id').where('account_id', param('accountId'));
  return {
    ofDay: compile('usage.of_day', knex('usage').select(USAGE).where('day_index', param('dayIndex'))),
    ofAccount: compile(
      'usage.of_account',
      ofAccount.where('day_index', '>=', param('fromDayIndex')).orderBy('day_index'),
    ),
    put: compile('usage.put', insertAll(engine, 'usage', USAGE, `(account_id, day_index) do update set ${totals}`)),
    // Raw SQL since knex drops `returning` from a delete on SQLite.
    deleteBefore: compile(
      'usage.delete_before',
      knex.raw(
        `delete from usage where (account_id, day_index) in
         (select account_id, day_index from usage where day_index < ? order by day_index limit ?) returning account_id`,
        [param('dayIndex'), param('limit')],
      ),
    ),
    lastUses: compile('key_uses.by_keys', engine.whereIdIn(knex('key_uses').select(KEY_USE), 'key_id')),
    lastUseOf: compile(
      'key_uses.of_account',
      knex('key_uses').max('last_used_at_ms as latest_ms').whereIn('key_id', keysOfAccount),
    ),
    putKeyUses: compile(
      'key_uses.put',
      insertAll(engine, 'key_uses', KEY_USE, `(key_id) do update set ${setGreater('key_uses', 'last_used_at_ms')}`),
    ),
  };
}

export function usageTable(engine: Engine) {
  const { reader, toIdList } = engine;
  const statements = usageStatements(engine);
  return {
    reads: {
      /** Every account's usage of one day. */
      ofDay: async (dayIndex: number) => (await reader.all(statements.ofDay, { dayIndex })).map(toUsage),
      /** One account's usage from a day on, in ascending order of day. */
      ofAccount: async (accountId: AccountId, fromDayIndex: number) =>
        (await reader.all(statements.ofAccount, { accountId, fromDayIndex })).map(toUsage),
      /** When keys were last used. A key that was never used is absent. */
      lastUses: async (keyIds: readonly KeyId[]) =>
        (await reader.all(statements.lastUses, { ids: toIdList(keyIds) })).map(toKeyUse),
      /** When any key of an account was last used; undefined when none was. */
      lastUseOf: async (accountId: AccountId) =>
        nullable(integer, onlyRow(await reader.all(statements.lastUseOf, { accountId })).latest_ms),
    },
    writes: (tx: Runner) => ({
      /**
       * Stores the totals of accounts' days. `usage` may name each day of an account once. When several servers store a
       * total for the same day, the greater one is kept, since totals only grow.
       */
      async put(usage: readonly DayUsage[]): Promise<void> {
        const rows = usage.map(({ accountId, dayIndex, requests, refused }) => [
          accountId,
          dayIndex,
          requests,
          refused,
        ]);
        await tx.all(statements.put, { rows: toJson(rows) });
      },
      /** Stores when keys were last used. `uses` may name each key once. The later time is kept. */
      async putKeyUses(uses: readonly KeyUse[]): Promise<void> {
        const rows = uses.map(({ keyId, lastUsedAtMs }) => [keyId, lastUsedAtMs]);
        await tx.all(statements.putKeyUses, { rows: toJson(rows) });
      },
      /** Deletes at most `limit` rows of days before `dayIndex`. Returns how many it deleted. */
      deleteBefore: async (dayIndex: number, limit: number) =>
        (await tx.all(statements.deleteBefore, { dayIndex, limit })).length,
    }),
  };
}
