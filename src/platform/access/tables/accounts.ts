/** The `accounts` and `api_keys` tables. */
import { PLANS, type Plan, type Quota } from '../../config/plans.ts';
import type { AccountId, KeyId } from '../../rpc/caller.ts';
import type { Engine, Runner } from '../../storage/engine.ts';
import { bigInteger, boolean, integer, oneOf, optional, record, text } from '../../storage/fields.ts';
import { compile, param, paramsOf } from '../../storage/statement.ts';
import { onlyRow, resource, table } from '../../storage/table.ts';

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
  readonly createdAtMs: number;
  readonly expiresAtMs: number | undefined;
  readonly revokedAtMs: number | undefined;
}

const ACCOUNTS = table<Account>('accounts', {
  id: bigInteger<AccountId>('id'),
  name: text('name'),
  plan: oneOf('plan', PLANS),
  agreed: optional(record<Quota>({ perMinute: integer('per_minute'), perDay: integer('per_day') })),
  isSuspended: boolean('suspended'),
  createdAtMs: integer('created_at_ms'),
});

const KEYS = table<ApiKey>('api_keys', {
  id: bigInteger<KeyId>('id'),
  accountId: bigInteger<AccountId>('account_id'),
  prefix: text('prefix'),
  label: optional(text('label')),
  createdAtMs: integer('created_at_ms'),
  expiresAtMs: optional(integer('expires_at_ms')),
  revokedAtMs: optional(integer('revoked_at_ms')),
});

export function accountTable(engine: Engine) {
  const { knex, reader } = engine;
  const accounts = resource(engine, ACCOUNTS);
  const keyByHash = compile('api_keys.by_hash', knex('api_keys').select(KEYS.columns).where('hash', param('hash')));
  return {
    writes: accounts.writes,
    reads: {
      ...accounts.reads,
      /** A key and its account, by the key's SHA-256. */
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
      /** Inserts a key with its SHA-256. */
      insert: async (key: Omit<ApiKey, 'id' | 'revokedAtMs'>, hash: Buffer): Promise<ApiKey> =>
        KEYS.toRecord(onlyRow(await tx.all(insert, { ...KEYS.toParams({ ...key, revokedAtMs: undefined }), hash }))),
    }),
  };
}
