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
  /** Stores the totals of an account's day. Several servers may know of it: the greater total wins, as totals only grow. */
  put(usage: DayUsage): Promise<void>;
  putBan(ban: KeyBan): Promise<void>;
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

/** The greater of a stored total and the one to store, in SQL that every engine has. */
function greater(knex: Knex, column: 'requests' | 'refused'): Knex.Raw {
  return knex.raw(`case when excluded.${column} > usage.${column} then excluded.${column} else usage.${column} end`);
}

export function usageStatements({ knex }: Engine) {
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
    put: compile(
      'usage.put',
      knex('usage')
        .insert({
          account_id: param('accountId'),
          day_index: param('dayIndex'),
          requests: param('requests'),
          refused: param('refused'),
        })
        .onConflict(['account_id', 'day_index'])
        .merge({ requests: greater(knex, 'requests'), refused: greater(knex, 'refused') }),
    ),
    bans: compile('bans.in_force', knex('bans').select('key_id', 'until_ms').where('until_ms', '>', param('nowMs'))),
    putBan: compile(
      'bans.put',
      knex('bans')
        .insert({ key_id: param('keyId'), until_ms: param('untilMs') })
        .onConflict('key_id')
        .merge(['until_ms']),
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
      await tx.all(statements.put, { ...usage });
    },
    async putBan(ban) {
      await tx.all(statements.putBan, { ...ban });
    },
  };
}
