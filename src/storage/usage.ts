/** The `usage` and `key_uses` tables: what accounts have used each day, and when each key was last used. */
import type { DayUsage, KeyUse } from '../model.ts';
import { greater, insertAll, toJson } from './bulk.ts';
import { type Engine, onlyRow, type Row, type Runner } from './engine.ts';
import { compile, param } from './statement.ts';

export interface UsageReader {
  /** Every account's usage of one day. */
  ofDay(dayIndex: number): Promise<readonly DayUsage[]>;
  /** One account's usage from a day on, in ascending order of day. */
  ofAccount(accountId: bigint, fromDayIndex: number): Promise<readonly DayUsage[]>;
  /** When keys were last used; of one that never was there is nothing. */
  lastUses(keyIds: readonly bigint[]): Promise<readonly KeyUse[]>;
  /** When any key of an account was last used; undefined when none ever was. */
  lastUseOf(accountId: bigint): Promise<number | undefined>;
}

export interface UsageWriter {
  /**
   * Stores the totals of accounts' days, each day of an account once, in one statement. Several servers may know of a
   * day: the greater total wins, as totals only grow.
   */
  put(usage: readonly DayUsage[]): Promise<void>;
  /** Stores when keys were last used, each key once, in one statement. The later time wins. */
  putKeyUses(uses: readonly KeyUse[]): Promise<void>;
  /** Deletes the usage of days before this one, `limit` rows at the most, and resolves with how many it were. */
  deleteBefore(dayIndex: number, limit: number): Promise<number>;
}

const USAGE = ['account_id', 'day_index', 'requests', 'refused'] as const;
const KEY_USE = ['key_id', 'last_used_at_ms'] as const;

function toUsage(row: Row): DayUsage {
  return {
    accountId: BigInt(row.account_id as number),
    dayIndex: row.day_index as number,
    requests: Number(row.requests),
    refused: Number(row.refused),
  };
}

export function usageStatements(engine: Engine) {
  const { knex } = engine;
  const totals = `${greater('usage', 'requests')}, ${greater('usage', 'refused')}`;
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
    // (knex leaves `returning` out of a delete on SQLite.)
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
      insertAll(engine, 'key_uses', KEY_USE, `(key_id) do update set ${greater('key_uses', 'last_used_at_ms')}`),
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
        keyId: BigInt(row.key_id as number),
        lastUsedAtMs: Number(row.last_used_at_ms),
      })),
    async lastUseOf(accountId) {
      const { latest_ms: latestMs } = onlyRow(await reader.all(statements.lastUseOf, { accountId }));
      return latestMs === null ? undefined : Number(latestMs);
    },
  };
}

export function usageWriter(statements: UsageStatements, tx: Runner): UsageWriter {
  return {
    async put(usage) {
      const rows = usage.map(({ accountId, dayIndex, requests, refused }) => [accountId, dayIndex, requests, refused]);
      await tx.all(statements.put, { rows: toJson(rows) });
    },
    async putKeyUses(uses) {
      await tx.all(statements.putKeyUses, {
        rows: toJson(uses.map(({ keyId, lastUsedAtMs }) => [keyId, lastUsedAtMs])),
      });
    },
    async deleteBefore(dayIndex, limit) {
      return (await tx.all(statements.deleteBefore, { dayIndex, limit })).length;
    },
  };
}
