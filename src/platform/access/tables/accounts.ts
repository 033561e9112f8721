/** The `accounts` and `api_keys` tables. */
import { PLANS, type Plan, type Quota } from '../../config/plans.ts';
import { type AccountId, type KeyId, PERMISSIONS, type Permission } from '../../rpc/caller.ts';
import type { Engine, Runner } from '../../storage/engine.ts';
import { compile, param, paramsOf } from '../../storage/statement.ts';
import { boolean, id, integer, oneOf, optional, record, table, text } from '../../tables/fields.ts';
import { onlyRow, resource } from '../../tables/table.ts';

export interface Account {
  readonly id: AccountId;
  readonly name: string;
  readonly plan: Plan;
  /** The quota that was agreed with an enterprise account. */
  readonly agreed: Quota | undefined;
  readonly isSuspended: boolean;
  readonly createdAtMs: number;
}

export interface ApiKey {
  readonly id: KeyId;
  readonly accountId: AccountId;
  /** The first characters of the key, for display. */
  readonly prefix: string;
  readonly label: string | undefined;
  readonly permission: Permission;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | undefined;
  readonly revokedAtMs: number | undefined;
  /** The key that this one was made of by rotation, and the last one that was made of this one. */
  readonly replaces: KeyId | undefined;
  readonly replacedBy: KeyId | undefined;
}

/** A key to insert, which may replace another one. */
export type NewKey = Omit<ApiKey, 'id' | 'revokedAtMs' | 'replaces' | 'replacedBy'> & {
  readonly replaces?: KeyId | undefined;
};

const ACCOUNTS = table<Account>('accounts', {
  id: id<AccountId>('id'),
  name: text('name'),
  plan: oneOf('plan', PLANS),
  agreed: optional(record<Quota>({ perMinute: integer('per_minute'), perDay: integer('per_day') })),
  isSuspended: boolean('suspended'),
  createdAtMs: integer('created_at_ms'),
});

const KEYS = table<ApiKey>('api_keys', {
  id: id<KeyId>('id'),
  accountId: id<AccountId>('account_id'),
  prefix: text('prefix'),
  label: optional(text('label')),
  permission: oneOf('permission', PERMISSIONS),
  createdAtMs: integer('created_at_ms'),
  expiresAtMs: optional(integer('expires_at_ms')),
  revokedAtMs: optional(integer('revoked_at_ms')),
  replaces: optional(id<KeyId>('replaces')),
  replacedBy: optional(id<KeyId>('replaced_by')),
});

export function accountTable(engine: Engine) {
  const { knex, reader } = engine;
  const accounts = resource(engine, ACCOUNTS);
  const keyByHash = compile('api_keys.by_hash', knex('api_keys').select(KEYS.columns).where('hash', param('hash')));
  return {
    writes: accounts.writes,
    reads: {
      ...accounts.reads,
      /** A key, by its hash, and its account. */
      async findKey(hash: Buffer): Promise<{ readonly key: ApiKey; readonly account: Account } | undefined> {
        const [row] = await reader.all(keyByHash, { hash });
        if (row === undefined) return undefined;
        const key = KEYS.toRecord(row);
        const account = await accounts.reads.find(key.accountId);
        return account && { key, account };
      },
    },
  };
}

export function keyTable(engine: Engine) {
  const keys = resource(engine, KEYS);
  const values = paramsOf([...KEYS.columns.filter((column) => column !== 'id'), 'hash']);
  const insert = compile('api_keys.insert', engine.knex('api_keys').insert(values).returning(KEYS.columns));
  return {
    ...keys,
    writes: (tx: Runner) => ({
      ...keys.writes(tx),
      async insert(key: NewKey, hash: Buffer): Promise<ApiKey> {
        const params = KEYS.toParams({ replaces: undefined, revokedAtMs: undefined, replacedBy: undefined, ...key });
        return KEYS.toRecord(onlyRow(await tx.all(insert, { ...params, hash })));
      },
    }),
  };
}
