/** The `usage` and `bans` tables: what the limits must not forget. */
import type { Knex } from 'knex';
import type { DayUsage } from '../model.ts';
import type { Engine, Row, Runner } from './engine.ts';
import { compile, param } from './statement.ts';

export interface KeyBan {
  readonly keyId: bigint;
  readonly untilMs: number;
}

export interface UsageReader {
  /** Every account's usage of one day. */
  ofDay(dayIndex: number): Promise<readonly DayUsage[]>;
  /** One account's usage from a day on, in ascending order of day. */
  ofAccount(accountId: bigint, fromDayIndex: number): Promise<readonly DayUsage[]>;
  /** Bans that have not ended at `nowMs`. */
  bans(nowMs: number): Promise<readonly KeyBan[]>;
}

export interface UsageWriter {
  /**
   * Stores the totals of accounts' days, each day of an account once, in one statement. Several servers may know of a
   * day: the greater total wins, as totals only grow.
   */
  put(usage: readonly DayUsage[]): Promise<void>;
  /** Stores bans, each key once, in one statement. */
  putBans(bans: readonly KeyBan[]): Promise<void>;
  /** Deletes the usage of days before this one, `limit` rows at the most, and resolves with how many it were. */
  deleteBefore(dayIndex: number, limit: number): Promise<number>;
}

const USAGE = ['account_id', 'day_index', 'requests', 'refused'] as const;

function toUsage(row: Row): DayUsage {
  return {
    accountId: BigInt(row.account_id as number),
    dayIndex: row.day_index as number,
    requests: Number(row.requests),
    refused: Number(row.refused),
  };
}

/**
 * Inserts rows that come as one JSON array of arrays of integers. They are in one order everywhere: servers that share a
 * database must not wait for each other in a circle.
 */
function insertAll(engine: Engine, table: string, columns: readonly string[], onConflict: string): Knex.Raw {
  const values = columns.map((_, index) => `cast(value ->> ${index} as bigint)`);
  const insert = `insert into ${table} (${columns.join(', ')}) select ${values.join(', ')} from ? order by 1, 2`;
  return engine.knex.raw(`${insert} on conflict ${onConflict}`, [engine.elementsOf('rows')]);
}

/** The greater of a stored total and the one to store, in SQL that every engine has. */
function greater(column: 'requests' | 'refused'): string {
  return `${column} = case when excluded.${column} > usage.${column} then excluded.${column} else usage.${column} end`;
}

function toJson(rows: readonly (readonly (bigint | number)[])[]): string {
  return `[${rows.map((row) => `[${row.join()}]`).join()}]`;
}

export function usageStatements(engine: Engine) {
  const { knex } = engine;
  const keepGreater = `(account_id, day_index) do update set ${greater('requests')}, ${greater('refused')}`;
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
    put: compile('usage.put', insertAll(engine, 'usage', USAGE, keepGreater)),
    // (knex leaves `returning` out of a delete on SQLite.)
    deleteBefore: compile(
      'usage.delete_before',
      knex.raw(
        `delete from usage where (account_id, day_index) in
         (select account_id, day_index from usage where day_index < ? order by day_index limit ?) returning account_id`,
        [param('dayIndex'), param('limit')],
      ),
    ),
    bans: compile('bans.in_force', knex('bans').select('key_id', 'until_ms').where('until_ms', '>', param('nowMs'))),
    putBans: compile(
      'bans.put',
      insertAll(engine, 'bans', ['key_id', 'until_ms'], '(key_id) do update set until_ms = excluded.until_ms'),
    ),
  };
}

type UsageStatements = ReturnType<typeof usageStatements>;

export function usageReader(statements: UsageStatements, reader: Runner): UsageReader {
  return {
    ofDay: async (dayIndex) => (await reader.all(statements.ofDay, { dayIndex })).map(toUsage),
    ofAccount: async (accountId, fromDayIndex) =>
      (await reader.all(statements.ofAccount, { accountId, fromDayIndex })).map(toUsage),
    bans: async (nowMs) =>
      (await reader.all(statements.bans, { nowMs })).map((row) => ({
        keyId: BigInt(row.key_id as number),
        untilMs: Number(row.until_ms),
      })),
  };
}

export function usageWriter(statements: UsageStatements, tx: Runner): UsageWriter {
  return {
    async put(usage) {
      const rows = usage.map(({ accountId, dayIndex, requests, refused }) => [accountId, dayIndex, requests, refused]);
      await tx.all(statements.put, { rows: toJson(rows) });
    },
    async putBans(bans) {
      await tx.all(statements.putBans, { rows: toJson(bans.map(({ keyId, untilMs }) => [keyId, untilMs])) });
    },
    async deleteBefore(dayIndex, limit) {
      return (await tx.all(statements.deleteBefore, { dayIndex, limit })).length;
    },
  };
}
