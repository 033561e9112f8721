/** The `bans` table: the last ban of each key that ever was banned. */
import { type LimitWindow, WINDOWS } from '../../config/plans.ts';
import type { AccountId, KeyId } from '../../rpc/caller.ts';
import type { Engine, Runner } from '../../storage/engine.ts';
import { compile, param } from '../../storage/statement.ts';
import { type Field, id, integer, optional, text } from '../../tables/fields.ts';
import { BY_ID, type PageRequest } from '../../tables/order.ts';
import { pages } from '../../tables/pages.ts';
import { put, table } from '../../tables/table.ts';

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
  const ending = (nowMs = param('nowMs')) => knex('bans').where('until_ms', '>', nowMs);
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
  const putAll = put(engine, BANS, 'api_keys', ['key_id'], (column) => `excluded.${column}`);
  const statements = {
    inForce: compile('bans.in_force', ending().select(BANS.columns)),
    ofKeys: compile('bans.of_keys', engine.whereIdIn(ending().select(BANS.columns), 'key_id')),
    remove: compile('bans.remove', knex('bans').where('key_id', param('keyId')).delete()),
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
      remove: async (keyId: KeyId) => void (await tx.all(statements.remove, { keyId })),
    }),
  };
}
