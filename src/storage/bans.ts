/** The `bans` table: the last ban of each key that ever was banned. */
import {
  type AccountId,
  type Ban,
  type BannedKey,
  type KeyId,
  type Page,
  type PageRequest,
  toAccountId,
  toKeyId,
} from '../model.ts';
import { insertAll, toJson } from './bulk.ts';
import type { Engine } from './engine.ts';
import { pageParams, toPage } from './page.ts';
import { bigInteger, integer, nullable, type Row, text } from './row.ts';
import { SingleStatement } from './single-statement.ts';
import { compile, compiledByVariant, param } from './statement.ts';

/** Reads bans that have not ended at `nowMs`. */
export interface BanReader {
  inForce(nowMs: number): Promise<readonly Pick<Ban, 'keyId' | 'untilMs'>[]>;
  ofKeys(keyIds: readonly KeyId[], nowMs: number): Promise<readonly Ban[]>;
  /** The bans of all keys, or of one account's keys, in ascending order of the key's id. */
  page(accountId: AccountId | undefined, nowMs: number, page: PageRequest): Promise<Page<BannedKey>>;
}

export interface BanWrites {
  /** Inserts or replaces bans. `bans` may name each key once. */
  put(bans: readonly Ban[]): SingleStatement<void>;
  /** Removes a key's ban, unless it ends after `untilMs`. */
  remove(keyId: KeyId, untilMs: number): SingleStatement<void>;
}

const BAN = ['key_id', 'until_ms', 'duration_ms', 'refusals', 'window_seconds'] as const;
const UPDATE = BAN.slice(1).map((column) => `${column} = excluded.${column}`);
const WINDOW_SECONDS = { minute: 60, day: 86_400 } as const;

function toBan(row: Row): Ban {
  const keyId = toKeyId(bigInteger(row.key_id));
  const untilMs = integer(row.until_ms);
  if (row.duration_ms === null) return { keyId, untilMs, cause: undefined };
  const sinceMs = untilMs - integer(row.duration_ms);
  const window = integer(row.window_seconds) === WINDOW_SECONDS.day ? 'day' : 'minute';
  return { keyId, untilMs, cause: { sinceMs, refusals: integer(row.refusals), window } };
}

function toBannedKey(row: Row): BannedKey {
  return {
    ...toBan(row),
    prefix: text(row.prefix),
    label: nullable(text, row.label),
    accountId: toAccountId(bigInteger(row.account_id)),
    accountName: text(row.account_name),
  };
}

function toValues({ keyId, untilMs, cause }: Ban): (bigint | number | null)[] {
  if (cause === undefined) return [keyId, untilMs, null, null, null];
  return [keyId, untilMs, untilMs - cause.sinceMs, cause.refusals, WINDOW_SECONDS[cause.window]];
}

export function banStatements(engine: Engine) {
  const { knex } = engine;
  const ending = () => knex('bans').where('until_ms', '>', param('nowMs'));
  return {
    inForce: compile('bans.in_force', ending().select('key_id', 'until_ms')),
    ofKeys: compile('bans.of_keys', engine.whereIdIn(ending().select(BAN), 'key_id')),
    page: compiledByVariant('bans.page', (filters) => {
      const all = ending()
        .select(...BAN, 'prefix', 'label', 'account_id', 'accounts.name as account_name')
        .join('api_keys', 'api_keys.id', 'key_id')
        .join('accounts', 'accounts.id', 'account_id')
        .where('key_id', '>', param('after'));
      const some = filters.has('accountId') ? all.where('account_id', param('accountId')) : all;
      return some.orderByRaw('?? limit ?', ['key_id', param('rows')] as never);
    }),
    put: compile('bans.put', insertAll(engine, 'bans', BAN, `(key_id) do update set ${UPDATE.join(', ')}`)),
    remove: compile(
      'bans.remove',
      knex('bans').where('key_id', param('keyId')).where('until_ms', '<=', param('untilMs')).delete(),
    ),
  };
}

type BanStatements = ReturnType<typeof banStatements>;

export function banReader(statements: BanStatements, { reader, toIdList }: Engine): BanReader {
  return {
    inForce: async (nowMs) =>
      (await reader.all(statements.inForce, { nowMs })).map((row) => ({
        keyId: toKeyId(bigInteger(row.key_id)),
        untilMs: integer(row.until_ms),
      })),
    ofKeys: async (keyIds, nowMs) => (await reader.all(statements.ofKeys, { ids: toIdList(keyIds), nowMs })).map(toBan),
    async page(accountId, nowMs, page) {
      const statement = statements.page(accountId === undefined ? [] : ['accountId']);
      const rows = await reader.all(statement, { accountId, nowMs, ...pageParams(page) });
      return toPage(rows, page, toBannedKey);
    },
  };
}

export function banWrites(statements: BanStatements): BanWrites {
  return {
    put: (bans) => SingleStatement.of(statements.put, { rows: toJson(bans.map(toValues)) }, () => undefined),
    remove: (keyId, untilMs) => SingleStatement.of(statements.remove, { keyId, untilMs }, () => undefined),
  };
}
