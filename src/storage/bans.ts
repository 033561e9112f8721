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
import type { Engine, Runner } from './engine.ts';
import { filtersInUse, keysetPage, pageParams, toPage } from './page.ts';
import { bigInteger, integer, nullable, type Row, text } from './row.ts';
import { compile, compiledByVariant, param } from './statement.ts';

const BAN = ['key_id', 'until_ms', 'duration_ms', 'refusals', 'window_seconds'] as const;
const UPDATE = BAN.slice(1).map((column) => `${column} = excluded.${column}`);
const WINDOW_SECONDS = { minute: 60, day: 86_400 } as const;

function toBan(row: Row): Ban {
  const keyId = toKeyId(bigInteger(row.key_id));
  const untilMs = integer(row.until_ms);
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

function toValues({ keyId, untilMs, cause }: Ban): (bigint | number)[] {
  return [keyId, untilMs, untilMs - cause.sinceMs, cause.refusals, WINDOW_SECONDS[cause.window]];
}

function banStatements(engine: Engine) {
  const { knex } = engine;
  const ending = () => knex('bans').where('until_ms', '>', param('nowMs'));
  return {
    inForce: compile('bans.in_force', ending().select('key_id', 'until_ms')),
    ofKeys: compile('bans.of_keys', engine.whereIdIn(ending().select(BAN), 'key_id')),
    page: compiledByVariant('bans.page', (filters) => {
      const query = ending()
        .select(...BAN, 'prefix', 'label', 'account_id', 'accounts.name as account_name')
        .join('api_keys', 'api_keys.id', 'key_id')
        .join('accounts', 'accounts.id', 'account_id');
      if (filters.has('accountId')) query.where('account_id', param('accountId'));
      return keysetPage(query, 'key_id');
    }),
    put: compile('bans.put', insertAll(engine, 'bans', BAN, `(key_id) do update set ${UPDATE.join(', ')}`)),
    remove: compile(
      'bans.remove',
      knex('bans').where('key_id', param('keyId')).where('until_ms', '<=', param('untilMs')).delete(),
    ),
  };
}

export function banTable(engine: Engine) {
  const { reader, toIdList } = engine;
  const statements = banStatements(engine);
  return {
    reads: {
      /** Bans that have not ended at `nowMs`. */
      inForce: async (nowMs: number): Promise<readonly Pick<Ban, 'keyId' | 'untilMs'>[]> =>
        (await reader.all(statements.inForce, { nowMs })).map((row) => ({
          keyId: toKeyId(bigInteger(row.key_id)),
          untilMs: integer(row.until_ms),
        })),
      ofKeys: async (keyIds: readonly KeyId[], nowMs: number) =>
        (await reader.all(statements.ofKeys, { ids: toIdList(keyIds), nowMs })).map(toBan),
      /** The bans of all keys, or of one account's keys, in ascending order of the key's id. */
      async page(accountId: AccountId | undefined, nowMs: number, page: PageRequest): Promise<Page<BannedKey>> {
        const statement = statements.page(filtersInUse({ accountId }));
        const rows = await reader.all(statement, { accountId, nowMs, ...pageParams(page) });
        return toPage(rows, page, toBannedKey);
      },
    },
    writes: (tx: Runner) => ({
      /** Inserts or replaces bans. `bans` may name each key once. */
      put: async (bans: readonly Ban[]) => void (await tx.all(statements.put, { rows: toJson(bans.map(toValues)) })),
      /** Removes a key's ban, unless it ends after `untilMs`. */
      remove: async (keyId: KeyId, untilMs: number) => void (await tx.all(statements.remove, { keyId, untilMs })),
    }),
  };
}
