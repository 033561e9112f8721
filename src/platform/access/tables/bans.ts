/** The `bans` table: the last ban of each key that ever was banned, or when the operator ended it. */
import { type LimitWindow, WINDOWS } from '../../config/plans.ts';
import type { AccountId, KeyId } from '../../rpc/caller.ts';
import type { Engine, Runner } from '../../storage/engine.ts';
import { compile, param } from '../../storage/statement.ts';
import { type Field, id, integer, optional, table, text } from '../../tables/fields.ts';
import { pages } from '../../tables/pages.ts';
import { BY_ID, type PageRequest } from '../../tables/sort-order.ts';
import { put } from '../../tables/table.ts';

/** A temporary ban of a key. It began `durationMs` before its end. */
export interface Ban {
  readonly keyId: KeyId;
  readonly untilMs: number;
  readonly durationMs: number;
  readonly refusals: number;
  /** The window whose limit the last refused request exceeded. */
  readonly window: LimitWindow;
}

export interface BannedKey extends Ban {
  readonly prefix: string;
  readonly label: string | undefined;
  readonly accountId: AccountId;
  readonly accountName: string;
}

const window: Field<LimitWindow> = {
  ...integer('window_seconds'),
  read: (row) => WINDOWS.find(({ seconds }) => seconds === row.window_seconds)?.name ?? WINDOWS[0].name,
  write: (window) => [WINDOWS.find(({ name }) => name === window)?.seconds ?? WINDOWS[0].seconds],
};

const BANS = table<Ban>('bans', {
  keyId: id<KeyId>('key_id'),
  untilMs: integer('until_ms'),
  durationMs: integer('duration_ms'),
  refusals: integer('refusals'),
  window,
});

const BANNED_KEYS = table<BannedKey>('bans', {
  ...BANS.fields,
  prefix: text('prefix'),
  label: optional(text('label')),
  accountId: id<AccountId>('account_id'),
  accountName: text('account_name'),
});

export function banTable(engine: Engine) {
  const { knex, reader } = engine;
  const ending = (nowMs = param('nowMs')) => knex('bans').where('until_ms', '>', nowMs).where('duration_ms', '>', 0);
  const banned = pages(
    engine,
    BANNED_KEYS,
    (_columns, given) =>
      ending(given('nowMs'))
        .select(...BANS.columns, 'prefix', 'label', 'account_id', 'accounts.name as account_name')
        .join('api_keys', 'api_keys.id', 'key_id')
        .join('accounts', 'accounts.id', 'account_id'),
    { ...BY_ID, columns: ['key_id'] },
  );
  // A server may store a ban when another one has ended it.
  const wasEnded = 'bans.duration_ms = 0 and excluded.until_ms - excluded.duration_ms <= bans.until_ms';
  const toPut = (column: string) => `case when ${wasEnded} then bans.${column} else excluded.${column} end`;
  const putAll = put(engine, BANS, 'api_keys', ['key_id'], toPut);
  const statements = {
    inForce: compile('bans.in_force', ending().select(BANS.columns)),
    ofKeys: compile('bans.of_keys', engine.whereIdIn(ending().select(BANS.columns), 'key_id')),
  };
  return {
    reads: {
      inForce: async (nowMs: number) => (await reader.all(statements.inForce, { nowMs })).map(BANS.toRecord),
      ofKeys: async (ids: readonly KeyId[], nowMs: number) =>
        (await reader.all(statements.ofKeys, { ids, nowMs })).map(BANS.toRecord),
      /** The bans of all keys, or of one account's keys, in ascending order of the key's id. */
      page: (page: PageRequest, nowMs: number, accountId?: AccountId) => banned(page, { accountId }, { nowMs }),
    },
    writes: (tx: Runner) => ({
      /** Inserts or replaces bans of keys that exist. Returns how many. */
      put: putAll(tx),
      /** Ends a key's ban, for good: also one that is yet to be stored. */
      end: (keyId: KeyId, untilMs: number) =>
        putAll(tx)([{ keyId, untilMs, durationMs: 0, refusals: 0, window: WINDOWS[0].name }]),
    }),
  };
}
