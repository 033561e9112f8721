/** The `accounts` and `api_keys` tables. */
import {
  type Account,
  type AccountId,
  type ApiKey,
  type KeyId,
  type Page,
  type PageRequest,
  PLANS,
  toAccountId,
  toKeyId,
} from '../model.ts';
import type { Engine, Runner } from './engine.ts';
import { keysetPage, pageParams, toPage } from './page.ts';
import { bigInteger, boolean, integer, nullable, oneOf, onlyRow, type Row, text } from './row.ts';
import { SingleStatement } from './single-statement.ts';
import { compile, param } from './statement.ts';

export interface AccountReader {
  /** Whether there is any account. */
  exist(): Promise<boolean>;
  find(id: AccountId): Promise<Account | undefined>;
  page(page: PageRequest): Promise<Page<Account>>;
  /** A key and its account, by the key's SHA-256. */
  findKey(hash: Buffer): Promise<{ readonly key: ApiKey; readonly account: Account } | undefined>;
  findKeyById(id: KeyId): Promise<ApiKey | undefined>;
  pageOfKeys(accountId: AccountId, page: PageRequest): Promise<Page<ApiKey>>;
}

/** Statements that lock and change accounts and keys in a transaction. */
export interface AccountWrites {
  insert(account: Omit<Account, 'id' | 'isSuspended'>): SingleStatement<Account>;
  /** Finds an account and locks it until the transaction ends. */
  lock(id: AccountId): SingleStatement<Account | undefined>;
  update(account: Account): SingleStatement<void>;
  insertKey(key: Omit<ApiKey, 'id' | 'revokedAtMs'>, hash: Buffer): SingleStatement<ApiKey>;
  lockKey(id: KeyId): SingleStatement<ApiKey | undefined>;
  revokeKey(id: KeyId, atMs: number): SingleStatement<void>;
}

const ACCOUNT = ['id', 'name', 'plan', 'per_minute', 'per_day', 'suspended', 'created_at_ms'] as const;
const KEY = ['id', 'account_id', 'prefix', 'label', 'created_at_ms', 'expires_at_ms', 'revoked_at_ms'] as const;

const plan = oneOf(...PLANS);

function toAccount(row: Row): Account {
  const perMinute = nullable(integer, row.per_minute);
  const perDay = nullable(integer, row.per_day);
  return {
    id: toAccountId(bigInteger(row.id)),
    name: text(row.name),
    plan: plan(row.plan),
    agreed: perMinute === undefined || perDay === undefined ? undefined : { perMinute, perDay },
    isSuspended: boolean(row.suspended),
    createdAtMs: integer(row.created_at_ms),
  };
}

function toApiKey(row: Row): ApiKey {
  return {
    id: toKeyId(bigInteger(row.id)),
    accountId: toAccountId(bigInteger(row.account_id)),
    prefix: text(row.prefix),
    label: nullable(text, row.label),
    createdAtMs: integer(row.created_at_ms),
    expiresAtMs: nullable(integer, row.expires_at_ms),
    revokedAtMs: nullable(integer, row.revoked_at_ms),
  };
}

export function accountStatements(engine: Engine) {
  const { knex } = engine;
  const byId = (table: string) => knex(table).where('id', param('id'));
  const values = { name: param('name'), plan: param('plan'), per_minute: param('perMinute'), per_day: param('perDay') };
  return {
    any: compile('accounts.any', knex('accounts').select('id').limit(1)),
    find: compile('accounts.find', byId('accounts').select(ACCOUNT)),
    page: compile('accounts.page', keysetPage(knex('accounts').select(ACCOUNT))),
    lock: compile('accounts.lock', engine.forUpdate(byId('accounts').select(ACCOUNT))),
    insert: compile(
      'accounts.insert',
      knex('accounts')
        .insert({ ...values, created_at_ms: param('createdAtMs') })
        .returning(ACCOUNT),
    ),
    update: compile('accounts.update', byId('accounts').update({ ...values, suspended: param('isSuspended') })),
    keyByHash: compile('api_keys.by_hash', knex('api_keys').select(KEY).where('hash', param('hash'))),
    keyById: compile('api_keys.by_id', byId('api_keys').select(KEY)),
    keyPage: compile('api_keys.page', keysetPage(knex('api_keys').select(KEY).where('account_id', param('accountId')))),
    lockKey: compile('api_keys.lock', engine.forUpdate(byId('api_keys').select(KEY))),
    insertKey: compile(
      'api_keys.insert',
      knex('api_keys')
        .insert({
          account_id: param('accountId'),
          hash: param('hash'),
          prefix: param('prefix'),
          label: param('label'),
          created_at_ms: param('createdAtMs'),
          expires_at_ms: param('expiresAtMs'),
        })
        .returning(KEY),
    ),
    revokeKey: compile('api_keys.revoke', byId('api_keys').update({ revoked_at_ms: param('atMs') })),
  };
}

type AccountStatements = ReturnType<typeof accountStatements>;

export function accountReader(statements: AccountStatements, reader: Runner): AccountReader {
  const find: AccountReader['find'] = async (id) => {
    const [row] = await reader.all(statements.find, { id });
    return row && toAccount(row);
  };
  return {
    find,
    exist: async () => (await reader.all(statements.any, {})).length > 0,
    page: async (page) => toPage(await reader.all(statements.page, pageParams(page)), page, toAccount),
    async findKey(hash) {
      const [row] = await reader.all(statements.keyByHash, { hash });
      if (row === undefined) return undefined;
      const key = toApiKey(row);
      const account = await find(key.accountId);
      return account && { key, account };
    },
    async findKeyById(id) {
      const [row] = await reader.all(statements.keyById, { id });
      return row && toApiKey(row);
    },
    pageOfKeys: async (accountId, page) =>
      toPage(await reader.all(statements.keyPage, { accountId, ...pageParams(page) }), page, toApiKey),
  };
}

export function accountWrites(statements: AccountStatements): AccountWrites {
  const params = ({ name, plan, agreed }: Pick<Account, 'name' | 'plan' | 'agreed'>) => ({
    name,
    plan,
    perMinute: agreed?.perMinute ?? null,
    perDay: agreed?.perDay ?? null,
  });
  return {
    insert: ({ createdAtMs, ...account }) =>
      SingleStatement.of(statements.insert, { ...params(account), createdAtMs }, (rows) => toAccount(onlyRow(rows))),
    lock: (id) => SingleStatement.of(statements.lock, { id }, ([row]) => row && toAccount(row)),
    update: ({ id, isSuspended, ...account }) =>
      SingleStatement.of(statements.update, { ...params(account), id, isSuspended }, () => undefined),
    insertKey({ label, expiresAtMs, ...key }, hash) {
      const nullables = { label: label ?? null, expiresAtMs: expiresAtMs ?? null };
      return SingleStatement.of(statements.insertKey, { ...key, ...nullables, hash }, (rows) =>
        toApiKey(onlyRow(rows)),
      );
    },
    lockKey: (id) => SingleStatement.of(statements.lockKey, { id }, ([row]) => row && toApiKey(row)),
    revokeKey: (id, atMs) => SingleStatement.of(statements.revokeKey, { id, atMs }, () => undefined),
  };
}
