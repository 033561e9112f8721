/** The `usage` and `key_uses` tables: what each account used on each day, and when each key was last used. */
import { type AccountId, type DayUsage, type KeyId, type KeyUse, toAccountId, toKeyId } from '../model.ts';
import { insertAll, setGreater, toJson } from './bulk.ts';
import type { Engine } from './engine.ts';
import { bigInteger, integer, nullable, onlyRow, type Row } from './row.ts';
import { SingleStatement } from './single-statement.ts';
import { compile, param } from './statement.ts';

export interface UsageReader {
  /** Every account's usage of one day. */
  ofDay(dayIndex: number): Promise<readonly DayUsage[]>;
  /** One account's usage from a day on, in ascending order of day. */
  ofAccount(accountId: AccountId, fromDayIndex: number): Promise<readonly DayUsage[]>;
  /** When keys were last used. A key that was never used is absent. */
  lastUses(keyIds: readonly KeyId[]): Promise<readonly KeyUse[]>;
  /** When any key of an account was last used; undefined when none was. */
  lastUseOf(accountId: AccountId): Promise<number | undefined>;
}

export interface UsageWrites {
  /**
   * Stores the totals of accounts' days. `usage` may name each day of an account once. When several servers store a
   * total for the same day, the greater one is kept, since totals only grow.
   */
  put(usage: readonly DayUsage[]): SingleStatement<void>;
  /** Stores when keys were last used. `uses` may name each key once. The later time is kept. */
  putKeyUses(uses: readonly KeyUse[]): SingleStatement<void>;
  /** Deletes at most `limit` rows of days before `dayIndex`. Returns the number of deleted rows. */
  deleteBefore(dayIndex: number, limit: number): SingleStatement<number>;
}

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

export function usageStatements(engine: Engine) {
  const { knex } = engine;
  const totals = `${setGreater('usage', 'requests')}, ${setGreater('usage', 'refused')}`;
  return {
    ofDay: compile('usage.of_day', knex('usage').select(USAGE).where('day_index', param('dayIndex'))),
    ofAccount: compile(
      'usage.of_account',
      knex('usage')
        .select(USAGE)
        .where('account_id', param('accountId'))
        .where('day_index', '>=', param('fromDayIndex'))
        .orderBy('day_index'),
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
      knex('key_uses')
        .max('last_used_at_ms as latest_ms')
        .whereIn('key_id', knex('api_keys').select('id').where('account_id', param('accountId'))),
    ),
    putKeyUses: compile(
      'key_uses.put',
      insertAll(engine, 'key_uses', KEY_USE, `(key_id) do update set ${setGreater('key_uses', 'last_used_at_ms')}`),
    ),
  };
}

type UsageStatements = ReturnType<typeof usageStatements>;

export function usageReader(statements: UsageStatements, engine: Engine): UsageReader {
  const { reader } = engine;
  return {
    ofDay: async (dayIndex) => (await reader.all(statements.ofDay, { dayIndex })).map(toUsage),
    ofAccount: async (accountId, fromDayIndex) =>
      (await reader.all(statements.ofAccount, { accountId, fromDayIndex })).map(toUsage),
    lastUses: async (keyIds) =>
      (await reader.all(statements.lastUses, { ids: engine.toIdList(keyIds) })).map((row) => ({
        keyId: toKeyId(bigInteger(row.key_id)),
        lastUsedAtMs: integer(row.last_used_at_ms),
      })),
    async lastUseOf(accountId) {
      return nullable(integer, onlyRow(await reader.all(statements.lastUseOf, { accountId })).latest_ms);
    },
  };
}

export function usageWrites(statements: UsageStatements): UsageWrites {
  return {
    put(usage) {
      const rows = usage.map(({ accountId, dayIndex, requests, refused }) => [accountId, dayIndex, requests, refused]);
      return SingleStatement.of(statements.put, { rows: toJson(rows) }, () => undefined);
    },
    putKeyUses(uses) {
      const rows = uses.map(({ keyId, lastUsedAtMs }) => [keyId, lastUsedAtMs]);
      return SingleStatement.of(statements.putKeyUses, { rows: toJson(rows) }, () => undefined);
    },
    deleteBefore: (dayIndex, limit) =>
      SingleStatement.of(statements.deleteBefore, { dayIndex, limit }, (rows) => rows.length),
  };
}
