/** The `accounts` and `api_keys` tables. */
import type { Account, ApiKey, Page, PageRequest, Plan } from '../model.ts';
import { type Engine, onlyRow, type Row, type Runner } from './engine.ts';
import { keysetPage, pageParams, toPage } from './page.ts';
import { compile, param } from './statement.ts';

export interface AccountReader {
  /** Whether there is any account. */
  exist(): Promise<boolean>;
  find(id: bigint): Promise<Account | undefined>;
  page(page: PageRequest): Promise<Page<Account>>;
  /** A key and its account, by the key's SHA-256. */
  findKey(hash: Buffer): Promise<{ readonly key: ApiKey; readonly account: Account } | undefined>;
  findKeyById(id: bigint): Promise<ApiKey | undefined>;
  pageOfKeys(accountId: bigint, page: PageRequest): Promise<Page<ApiKey>>;
}

/** Changes accounts and keys within a transaction. */
export interface AccountWriter {
  insert(account: Omit<Account, 'id' | 'isSuspended'>): Promise<Account>;
  /** Finds an account and keeps others from changing it until the transaction ends. */
  lock(id: bigint): Promise<Account | undefined>;
  update(account: Account): Promise<void>;
  insertKey(key: Omit<ApiKey, 'id' | 'revokedAtMs'>, hash: Buffer): Promise<ApiKey>;
  lockKey(id: bigint): Promise<ApiKey | undefined>;
  revokeKey(id: bigint, atMs: number): Promise<void>;
}

const ACCOUNT = ['id', 'name', 'plan', 'per_minute', 'per_day', 'suspended', 'created_at_ms'] as const;
const KEY = ['id', 'account_id', 'prefix', 'label', 'created_at_ms', 'expires_at_ms', 'revoked_at_ms'] as const;

function toAccount(row: Row): Account {
  const perMinute = row.per_minute as number | null;
  const perDay = row.per_day as number | null;
  return {
    id: BigInt(row.id as number),
    name: row.name as string,
    plan: row.plan as Plan,
    agreed: perMinute === null || perDay === null ? undefined : { perMinute, perDay },
    isSuspended: Boolean(row.suspended),
    createdAtMs: Number(row.created_at_ms),
  };
}

function toApiKey(row: Row): ApiKey {
  return {
    id: BigInt(row.id as number),
    accountId: BigInt(row.account_id as number),
    prefix: row.prefix as string,
    label: (row.label as string | null) ?? undefined,
    createdAtMs: Number(row.created_at_ms),
    expiresAtMs: toMs(row.expires_at_ms as number | null),
    revokedAtMs: toMs(row.revoked_at_ms as number | null),
  };
}

function toMs(value: number | null): number | undefined {
  return value === null ? undefined : Number(value);
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

export function accountWriter(statements: AccountStatements, tx: Runner): AccountWriter {
  const params = ({ name, plan, agreed }: Pick<Account, 'name' | 'plan' | 'agreed'>) => ({
    name,
    plan,
    perMinute: agreed?.perMinute ?? null,
    perDay: agreed?.perDay ?? null,
  });
  return {
    async insert(account) {
      const { createdAtMs } = account;
      return toAccount(onlyRow(await tx.all(statements.insert, { ...params(account), createdAtMs })));
    },
    async lock(id) {
      const [row] = await tx.all(statements.lock, { id });
      return row && toAccount(row);
    },
    async update(account) {
      const { id, isSuspended } = account;
      await tx.all(statements.update, { ...params(account), id, isSuspended });
    },
    async insertKey({ label, expiresAtMs, ...key }, hash) {
      const nullable = { label: label ?? null, expiresAtMs: expiresAtMs ?? null };
      return toApiKey(onlyRow(await tx.all(statements.insertKey, { ...key, ...nullable, hash })));
    },
    async lockKey(id) {
      const [row] = await tx.all(statements.lockKey, { id });
      return row && toApiKey(row);
    },
    async revokeKey(id, atMs) {
      await tx.all(statements.revokeKey, { id, atMs });
    },
  };
}
