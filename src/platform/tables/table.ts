/** What the tables have in common: statements, reads and writes of records, made from their fields. */
import type { Knex } from 'knex';
import type { Engine, Runner } from '../storage/engine.ts';
import { compile, type Params, param, paramsOf, type Row, type Statement, toJson } from '../storage/statement.ts';
import { id as idField, integer, record, type Table } from './fields.ts';
import { mayBe } from './ids.ts';
import { pages } from './pages.ts';
import { sharedReads } from './shared-reads.ts';
import type { SortOrder } from './sort-order.ts';

export type Identified = { readonly id: bigint | string };

/** The only row. @throws Error unless there is exactly one. */
export function onlyRow(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined || rows.length > 1) throw new Error(`expected one row, not ${rows.length}`);
  return row;
}

/** Finds records by the field `id`. Concurrent calls of `find` share a statement. */
export function lookup<R extends Identified>(engine: Engine, table: Pick<Table<R>, 'name' | 'selected' | 'toRecord'>) {
  const { name, toRecord } = table;
  const query = engine.whereIdIn(engine.knex(name).select(table.selected(engine)), 'id').orderBy('id');
  const byIds = compile(`${name}.by_ids`, query);
  const findSeveral = async (ids: readonly R['id'][]): Promise<readonly R[]> =>
    (await engine.reader.all(byIds, { ids: ids.filter(mayBe) })).map(toRecord);
  const find = sharedReads<R['id'], R | undefined>(async (ids) => {
    const rows = new Map((await findSeveral(ids)).map((row) => [row.id, row]));
    return ids.map((id) => rows.get(id));
  });
  return {
    find,
    /** Every record of `ids` that exists, in ascending order of id. */
    async findAll(ids: readonly R['id'][]): Promise<readonly R[]> {
      const [id, ...others] = ids;
      if (id === undefined || others.length > 0) return findSeveral(ids);
      const row = await find(id);
      return row === undefined ? [] : [row];
    },
  };
}

const AGED = record({ key: idField('key'), timeMs: integer('time_ms') });

/**
 * Deletes at most `count` records that come before the first one whose column `timeMs` is no more than `keptMs` before
 * `nowMs`, in the ascending order of `key`, which is that of their age; all or only those below a `limit`. There is no
 * gap among those that stay. One that a wrong clock has dated ahead is as old as the next. Returns how many rows it
 * deleted or passed, since all of them are dated ahead: the next call goes on behind these. 0 when nothing is left.
 */
export function oldest({ knex }: Engine, name: string, key: string, timeMs: string, limit?: Knex.Raw) {
  // Raw SQL since knex drops `returning` from a delete, and its `limit` takes no parameter.
  const inOrder = (...columns: string[]) =>
    knex(name)
      .select(columns)
      .orderByRaw('?? limit ?', [key, param('count')]);
  const next = inOrder(`${key} as key`, `${timeMs} as time_ms`).where(key, '>', param('after'));
  const old = knex(name).whereIn(key, inOrder(key).where(key, '<=', param('last')));
  if (limit !== undefined) old.where(key, '<', limit);
  const look = compile(`${name}.look_at_oldest`, next);
  const remove = compile(`${name}.delete_oldest`, knex.raw('? returning ??', [old.delete(), key]));
  let after = 0n;
  return (tx: Runner) => async (count: number, nowMs: number, keptMs: number) => {
    const beforeMs = nowMs - keptMs;
    const rows = (await tx.all(look, { after, count })).map(AGED.read);
    const end = rows.findIndex((row) => row.timeMs >= beforeMs && row.timeMs <= nowMs);
    const last = rows.slice(0, end === -1 ? count : end).findLast((row) => row.timeMs < beforeMs);
    if (last !== undefined) return (await tx.all(remove, { last: last.key, count })).length;
    const isLast = end !== -1 || rows.length < count;
    after = isLast ? 0n : (rows.at(-1)?.key ?? 0n);
    return isLast ? 0 : count;
  };
}

export interface ResourceOptions<R extends Identified> {
  /** The columns that an update leaves alone. */
  readonly constant?: readonly string[];
  /** Whether inserts that wait at the same time are one statement, which pays for those of a `write` (store.ts). */
  readonly isShared?: boolean;
  /** Makes an id that no record has had. */
  readonly newId?: () => R['id'];
  readonly order?: SortOrder;
}

/** A table whose records have an id that the database gives them, or `newId`. */
export function resource<R extends Identified>(engine: Engine, table: Table<R>, options: ResourceOptions<R> = {}) {
  const page = pages(engine, table, (all) => engine.knex(table.name).select(all), options.order);
  return { reads: { ...lookup(engine, table), page }, writes: recordWrites(engine, table, options) };
}

/** The writes of a resource. A row must have the values of the parameters `scope`, and gets them. */
export function recordWrites<R extends Identified>(
  engine: Engine,
  table: Table<R>,
  { constant = [], isShared = false, newId }: ResourceOptions<R>,
  scope: readonly string[] = [],
) {
  const { knex } = engine;
  const { name, columns, toRecord, toParams } = table;
  const byId = () => knex(name).where(paramsOf(['id', ...scope]));
  const given = [...columns.filter((column) => column !== 'id' || newId !== undefined), ...scope];
  const changeable = paramsOf(given.filter((column) => !['id', ...constant, ...scope].includes(column)));
  const statements = {
    // Of locks knex makes nothing on SQLite, which has one writer.
    lock: compile(`${name}.lock`, byId().select(table.selected(engine)).forUpdate()),
    delete: compile(`${name}.delete`, byId().delete()),
  };
  /** Compiled at their first use: some tables have others in their place, under the same names. */
  const shared = () => compileInsert(engine, table, given, 'order by key returning id', () => true);
  let [insertion, change]: (Statement | undefined)[] = [];
  const insert = () =>
    (insertion ??= isShared ? shared() : compile(`${name}.insert`, knex(name).insert(paramsOf(given)).returning('id')));
  const update = () => (change ??= compile(`${name}.update`, byId().update(changeable)));
  return (tx: Runner) => ({
    async insert(fields: Omit<R, 'id'>): Promise<R> {
      const made = newId === undefined ? fields : { ...fields, id: newId() };
      const row = onlyRow(await tx.all(insert(), toParams(made as Partial<R>)));
      return { ...fields, id: table.fields.id.read(row) } as unknown as R; // each of its fields
    },
    /** Finds a record and locks it until the transaction ends. */
    async lock(id: R['id']): Promise<R | undefined> {
      const [row] = mayBe(id) ? await tx.all(statements.lock, { id }) : [];
      return row && toRecord(row);
    },
    update: async (changed: R): Promise<void> => void (await tx.all(update(), toParams(changed))),
    delete: async (id: R['id']): Promise<void> => void (await tx.all(statements.delete, { id })),
  });
}

/**
 * Stores those of many records whose parent exists, and returns how many: their first column has the id of a row of
 * `parents`, which may have gone with a restore. They may name each `key` once, and are sorted, so that two servers
 * can't deadlock. A row with the same key is updated: `set` returns the SQL of a column's value.
 */
export function put<R extends object>(
  engine: Engine,
  table: Table<R>,
  parents: string,
  key: readonly string[],
  set: (column: string) => string,
) {
  const [parent = ''] = table.columns;
  const updates = table.columns.filter((column) => !key.includes(column)).map((column) => `${column} = ${set(column)}`);
  const having = `where exists (select 1 from ${parents} where id = ${table.fromJson(engine, [parent])})`;
  const rest = `${having} order by 1, 2 on conflict (${key}) do update set ${updates} returning ${parent}`;
  const statement = compile(`${table.name}.put`, insertFromJson(engine, table, table.columns, rest));
  return (tx: Runner) => async (records: readonly R[]) =>
    (await tx.all(statement, { elements: toJson(records.map(table.toParams), table.columns) })).length;
}

/**
 * Compiles an insert that several callers can share, whose parameters are the columns `names`:
 * `insert … select … from elements ${rest}`. `elements` has the values of each caller, and as `key` his number. `rest`
 * can leave out callers (`where`, `on conflict do nothing`), orders by `key`, and returns an `id` that ascends: so the
 * rows are in the order of the callers. `belongsTo` tells whether the next row is a caller's. If it can be that of
 * several, as with equal values, `rest` inserts the first of them, all or none.
 */
export function compileInsert<R extends object>(
  engine: Engine,
  table: Table<R>,
  names: readonly string[],
  rest: string,
  belongsTo: (params: Params, row: Row) => boolean,
): Statement {
  const statement = compile(`${table.name}.insert`, insertFromJson(engine, table, names, rest));
  const bind: Statement['bind'] = (...callers) => statement.bind({ elements: toJson(callers, names) });
  const share = (callers: readonly Params[], rows: readonly Row[]) => {
    const inOrder = rows.toSorted((one, other) => Number(one.id) - Number(other.id));
    let next = 0;
    return callers.map((params) => {
      const row = inOrder[next];
      if (row === undefined || !belongsTo(params, row)) return [];
      next += 1;
      return [row];
    });
  };
  return { ...statement, bind, share };
}

/** Finds the row of a table with this id, and locks it: it can't be deleted between this check and the write. */
export function existingRow({ knex }: Engine, name: string, id: Knex.Value | Knex.Raw) {
  return knex(name).select(knex.raw('1')).where(`${name}.id`, id).forKeyShare();
}

/** Like `compileInsert`, of records whose `parent` is the id of a row of `parents`. It returns all columns. */
export function compileChildInsert<R extends object>(
  engine: Engine,
  table: Table<R>,
  names: readonly string[],
  parent: string,
  parents: string,
): Statement {
  const id = engine.knex.raw(table.fromJson(engine, names)[names.indexOf(parent)] ?? '');
  const rest = `where exists (${existingRow(engine, parents, id)}) order by key returning ${table.selected(engine)}`;
  return compileInsert(engine, table, names, rest, (params, row) => String(row[parent]) === String(params[parent]));
}

/** Inserts the rows in the JSON array of the parameter `elements`. knex drops `returning` from such an insert. */
function insertFromJson<R extends object>(engine: Engine, table: Table<R>, columns: readonly string[], rest: string) {
  const insert = `insert into ${table.name} (${columns}) select ${table.fromJson(engine, columns)} from ? ${rest}`;
  return engine.knex.raw(insert, [engine.elementsOf('elements')]);
}
