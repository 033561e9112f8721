/** The `accounts` and `api_keys` tables. */
import type { Engine, Row, Runner } from './engine.ts';
import { onlyRow } from './engine.ts';
import { compile, param } from './statement.ts';

/** What authentication needs to know of a key. */
export interface ApiKey {
  readonly id: bigint;
  readonly accountId: bigint;
  readonly expiresAtMs: number | undefined;
  readonly isRevoked: boolean;
  readonly isSuspended: boolean;
}

export interface ApiKeyReader {
  /** Finds a key by its SHA-256. */
  findByHash(hash: Buffer): Promise<ApiKey | undefined>;
}

export interface AccountReader {
  /** Whether there is any account. */
  exist(): Promise<boolean>;
}

export interface NewApiKey {
  readonly accountId: bigint;
  readonly hash: Buffer;
  /** The first characters of the key, for display. */
  readonly prefix: string;
  readonly label: string | undefined;
  readonly createdAtMs: number;
}

export interface NewAccount {
  readonly name: string;
  readonly plan: string;
  readonly createdAtMs: number;
}

/** Changes accounts and keys within a transaction. */
export interface AccountWriter {
  insertAccount(account: NewAccount): Promise<bigint>;
  insertKey(key: NewApiKey): Promise<bigint>;
}

function toApiKey(row: Row): ApiKey {
  return {
    id: BigInt(row.id as number),
    accountId: BigInt(row.account_id as number),
    expiresAtMs: (row.expires_at_ms as number | null) ?? undefined,
    isRevoked: row.revoked_at_ms !== null,
    isSuspended: Boolean(row.suspended),
  };
}

export function accountStatements({ knex }: Engine) {
  return {
    keyByHash: compile(
      'api_keys.by_hash',
      knex('api_keys')
        .join('accounts', 'accounts.id', 'api_keys.account_id')
        .select('api_keys.id', 'account_id', 'expires_at_ms', 'revoked_at_ms', 'suspended')
        .where('hash', param('hash')),
    ),
    anyAccount: compile('accounts.any', knex('accounts').select('id').limit(1)),
    insertAccount: compile(
      'accounts.insert',
      knex('accounts')
        .insert({ name: param('name'), plan: param('plan'), created_at_ms: param('createdAtMs') })
        .returning('id'),
    ),
    insertKey: compile(
      'api_keys.insert',
      knex('api_keys')
        .insert({
          account_id: param('accountId'),
          hash: param('hash'),
          prefix: param('prefix'),
          label: param('label'),
          created_at_ms: param('createdAtMs'),
        })
        .returning('id'),
    ),
  };
}

type AccountStatements = ReturnType<typeof accountStatements>;

export function apiKeyReader(statements: AccountStatements, reader: Runner): ApiKeyReader {
  return {
    async findByHash(hash) {
      const [row] = await reader.all(statements.keyByHash, { hash });
      return row && toApiKey(row);
    },
  };
}

export function accountReader(statements: AccountStatements, reader: Runner): AccountReader {
  return { exist: async () => (await reader.all(statements.anyAccount, {})).length > 0 };
}

export function accountWriter(statements: AccountStatements, tx: Runner): AccountWriter {
  const idOf = (rows: readonly Row[]) => BigInt(onlyRow(rows).id as number);
  return {
    insertAccount: async (account) => idOf(await tx.all(statements.insertAccount, { ...account })),
    insertKey: async (key) => idOf(await tx.all(statements.insertKey, { ...key, label: key.label ?? null })),
  };
}
