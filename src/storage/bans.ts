/** The `bans` table: the last ban of each key that ever was banned. */
import type { Ban, BannedKey, Page, PageRequest } from '../model.ts';
import { insertAll, toJson } from './bulk.ts';
import type { Engine, Row, Runner } from './engine.ts';
import { pageParams, toPage } from './page.ts';
import { compile, compiledByVariant, param } from './statement.ts';

/** Bans that end after one moment and not after another. */
interface Ends {
  readonly afterMs: number;
  readonly atLatestMs: number;
}

export interface BanReader {
  /** Bans that have not ended at `nowMs`. */
  inForce(nowMs: number): Promise<readonly Pick<Ban, 'keyId' | 'untilMs'>[]>;
  /** Those of some keys. */
  ofKeys(keyIds: readonly bigint[], ends: Ends): Promise<readonly Ban[]>;
  /** Those of all keys, or of an account's, in ascending order of the key's id. */
  page(accountId: bigint | undefined, ends: Ends, page: PageRequest): Promise<Page<BannedKey>>;
}

export interface BanWriter {
  /** Stores bans, each key once, in one statement. */
  put(bans: readonly Ban[]): Promise<void>;
  /** Removes a key's ban, unless it ends after `untilMs`. */
  remove(keyId: bigint, untilMs: number): Promise<void>;
}

const BAN = ['key_id', 'until_ms', 'duration_ms', 'refusals', 'window_seconds'] as const;
const UPDATE = BAN.slice(1).map((column) => `${column} = excluded.${column}`);
const WINDOW_SECONDS = { minute: 60, day: 86_400 } as const;

function toBan(row: Row): Ban {
  const keyId = BigInt(row.key_id as number);
  const untilMs = Number(row.until_ms);
  if (row.duration_ms === null) return { keyId, untilMs, cause: undefined };
  const sinceMs = untilMs - Number(row.duration_ms);
  const window = row.window_seconds === WINDOW_SECONDS.day ? 'day' : 'minute';
  return { keyId, untilMs, cause: { sinceMs, refusals: row.refusals as number, window } };
}

function toBannedKey(row: Row): BannedKey {
  return {
    ...toBan(row),
    prefix: row.prefix as string,
    label: (row.label as string | null) ?? undefined,
    accountId: BigInt(row.account_id as number),
    accountName: row.account_name as string,
  };
}

function toValues({ keyId, untilMs, cause }: Ban): (bigint | number | null)[] {
  if (cause === undefined) return [keyId, untilMs, null, null, null];
  return [keyId, untilMs, untilMs - cause.sinceMs, cause.refusals, WINDOW_SECONDS[cause.window]];
}

export function banStatements(engine: Engine) {
  const { knex } = engine;
  const ending = () =>
    knex('bans').where('until_ms', '>', param('afterMs')).where('until_ms', '<=', param('atLatestMs'));
  return {
    inForce: compile('bans.in_force', knex('bans').select('key_id', 'until_ms').where('until_ms', '>', param('nowMs'))),
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
        keyId: BigInt(row.key_id as number),
        untilMs: Number(row.until_ms),
      })),
    ofKeys: async (keyIds, ends) =>
      (await reader.all(statements.ofKeys, { ids: toIdList(keyIds), ...ends })).map(toBan),
    async page(accountId, ends, page) {
      const statement = statements.page(accountId === undefined ? [] : ['accountId']);
      const rows = await reader.all(statement, { accountId, ...ends, ...pageParams(page) });
      return toPage(rows, page, toBannedKey);
    },
  };
}

export function banWriter(statements: BanStatements, tx: Runner): BanWriter {
  return {
    async put(bans) {
      await tx.all(statements.put, { rows: toJson(bans.map(toValues)) });
    },
    async remove(keyId, untilMs) {
      await tx.all(statements.remove, { keyId, untilMs });
    },
  };
}
