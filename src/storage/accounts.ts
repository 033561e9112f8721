/** The `accounts` and `api_keys` tables. */
import {
  type Account,
  type AccountId,
  type ApiKey,
  type KeyId,
  type PageRequest,
  PLANS,
  toAccountId,
  toKeyId,
} from '../model.ts';
import type { Engine, Runner } from './engine.ts';
import { keysetPage, pageParams, toPage } from './page.ts';
import { bigInteger, boolean, firstRow, integer, nullable, oneOf, onlyRow, type Row, text } from './row.ts';
import { compile, param } from './statement.ts';

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

function toParams({ name, plan, agreed }: Pick<Account, 'name' | 'plan' | 'agreed'>) {
  return { name, plan, perMinute: agreed?.perMinute ?? null, perDay: agreed?.perDay ?? null };
}

export function accountStatements(engine: Engine) {
  const { knex } = engine;
  const byId = (table: string) => knex(table).where('id', param('id'));
  const values = { name: param('name'), plan: param('plan'), per_minute: param('perMinute'), per_day: param('perDay') };
  const keyValues = {
    account_id: param('accountId'),
    hash: param('hash'),
    prefix: param('prefix'),
    label: param('label'),
    created_at_ms: param('createdAtMs'),
    expires_at_ms: param('expiresAtMs'),
  };
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
    insertKey: compile('api_keys.insert', knex('api_keys').insert(keyValues).returning(KEY)),
    revokeKey: compile('api_keys.revoke', byId('api_keys').update({ revoked_at_ms: param('atMs') })),
  };
}

export function accountTable(engine: Engine) {
  const { reader } = engine;
  const statements = accountStatements(engine);
  const find = async (id: AccountId) => firstRow(await reader.all(statements.find, { id }), toAccount);
  return {
    reads: {
      /** Whether there is any account. */
      exist: async () => (await reader.all(statements.any, {})).length > 0,
      find,
      page: async (page: PageRequest) => toPage(await reader.all(statements.page, pageParams(page)), page, toAccount),
      /** A key and its account, by the key's SHA-256. */
      async findKey(hash: Buffer): Promise<{ readonly key: ApiKey; readonly account: Account } | undefined> {
        const [row] = await reader.all(statements.keyByHash, { hash });
        if (row === undefined) return undefined;
        const key = toApiKey(row);
        const account = await find(key.accountId);
        return account && { key, account };
      },
      findKeyById: async (id: KeyId) => firstRow(await reader.all(statements.keyById, { id }), toApiKey),
      pageOfKeys: async (accountId: AccountId, page: PageRequest) =>
        toPage(await reader.all(statements.keyPage, { accountId, ...pageParams(page) }), page, toApiKey),
    },
    writes: (tx: Runner) => ({
      insert: async ({ createdAtMs, ...account }: Omit<Account, 'id' | 'isSuspended'>) =>
        toAccount(onlyRow(await tx.all(statements.insert, { ...toParams(account), createdAtMs }))),
      /** Finds an account and locks it until the transaction ends. */
      lock: async (id: AccountId) => firstRow(await tx.all(statements.lock, { id }), toAccount),
      update: async ({ id, isSuspended, ...account }: Account) =>
        void (await tx.all(statements.update, { ...toParams(account), id, isSuspended })),
      async insertKey(key: Omit<ApiKey, 'id' | 'revokedAtMs'>, hash: Buffer): Promise<ApiKey> {
        const nullables = { label: key.label ?? null, expiresAtMs: key.expiresAtMs ?? null };
        return toApiKey(onlyRow(await tx.all(statements.insertKey, { ...key, ...nullables, hash })));
      },
      lockKey: async (id: KeyId) => firstRow(await tx.all(statements.lockKey, { id }), toApiKey),
      revokeKey: async (id: KeyId, atMs: number) => void (await tx.all(statements.revokeKey, { id, atMs })),
    }),
  };
}
