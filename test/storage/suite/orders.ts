/** Orders of a list other than by an integer id, in a table whose ids are texts that the server makes. */
import { randomUUID } from 'node:crypto';
import { pageTokens } from '../../../src/platform/rpc/page-token.ts';
import { type Instant, instant, integer, table, text } from '../../../src/platform/tables/fields.ts';
import { pages } from '../../../src/platform/tables/pages.ts';
import { orderBy } from '../../../src/platform/tables/sort-order.ts';
import { createStore } from '../../../src/platform/tables/store.ts';
import { resource } from '../../../src/platform/tables/table.ts';
import { TABLES } from '../../../src/schema.ts';
import { test } from './database.ts';

interface Scan {
  readonly id: string;
  readonly place: number;
  readonly time: Instant;
}

const SCANS = table<Scan>('scans', { id: text('id'), place: integer('place'), time: instant('time') });
const ORDERS = [
  orderBy(SCANS, 'newest', ['time', 'id'], true),
  orderBy(SCANS, 'oldest', ['time', 'id']),
  orderBy(SCANS, 'by_place', ['place', 'time', 'id'], true),
] as const;

/** Five instants, each of several scans, also before 1970. Their seconds, -6, 2 and 10, have another order as texts. */
const at = (step: number): Instant => ({
  seconds: BigInt(Math.floor(step / 2) * 8 - 6),
  nanos: (step % 2) * 999_999_999,
});
const isLess = (one: Instant, other: Instant) =>
  one.seconds < other.seconds || (one.seconds === other.seconds && one.nanos < other.nanos);

export function orderTests(): void {
  test('Orders - pages of any size have each row of the range once, by its values and then its id', async (t) => {
    const engine = await t.context.database.open({}, [
      {
        name: '900-scans',
        up: (knex) =>
          knex.schema.createTable('scans', (columns) => {
            columns.text('id').primary();
            columns.integer('place').notNullable();
            columns.bigInteger('time_seconds').notNullable();
            columns.integer('time_nanos').notNullable();
          }),
        isAdditive: false,
      },
    ]);
    const store = createStore(engine, {
      ...TABLES,
      scans(opened) {
        const made = resource(opened, SCANS, { newId: randomUUID, order: orderBy(SCANS, 'page', ['id']) });
        const lists = ORDERS.map((order) => pages(opened, SCANS, (all) => opened.knex('scans').select(all), order));
        return {
          reads: { ...made.reads, in: (index: number) => lists[index] ?? made.reads.page },
          writes: made.writes,
        };
      },
    });
    t.teardown(() => store.close());
    const rows: Scan[] = [];
    for (let index = 0; index < 20; index += 1) {
      const fields = { place: index % 3, time: at((index * 7) % 5) };
      rows.push(await store.write(({ scans }) => scans.insert(fields)));
    }
    const idsIn = (index: number, chosen: readonly Scan[]) => {
      const keys = chosen.map((row) => ({ id: row.id, key: [ORDERS[index]?.keyOf(row) ?? 0n].flat() }));
      const compare = (one: readonly unknown[], other: readonly unknown[]) => {
        const place = one.findIndex((part, of) => part !== other[of]);
        return (one[place] as string) < (other[place] as string) ? -1 : 1;
      };
      const sorted = keys.sort(({ key: one }, { key: other }) => compare(one, other)).map(({ id }) => id);
      return ORDERS[index]?.isDescending ? sorted.reverse() : sorted;
    };
    const walk = async (index: number, limit: number, from?: Instant, to?: Instant, place?: number) => {
      const order = ORDERS[index] ?? ORDERS[0];
      const range = index === 2 ? undefined : ORDERS[index === 0 ? 0 : 1].range(from, to);
      const tokens = pageTokens(9, order);
      const ids: string[] = [];
      for (let pageToken = ''; ; ) {
        const page = await store.scans.in(index)(tokens.toPageRequest({ limit, pageToken }, range), { place });
        t.true(page.rows.length <= limit);
        ids.push(...page.rows.map(({ id }) => id));
        pageToken = tokens.next(page, order.keyOf);
        if (pageToken === '') return ids;
      }
    };
    for (const limit of [1, 3, 19, 20, 100]) {
      for (const index of [0, 1, 2]) t.deepEqual(await walk(index, limit), idsIn(index, rows));
      for (const [from, to] of [
        [at(1), at(3)],
        [undefined, at(2)],
        [at(2), undefined],
        [at(3), at(3)],
      ]) {
        const chosen = rows.filter(
          ({ time }) => !(from && isLess(time, from)) && (to === undefined || isLess(time, to)),
        );
        for (const index of [0, 1]) t.deepEqual(await walk(index, limit, from, to), idsIn(index, chosen));
        const some = chosen.filter(({ place }) => place === 1);
        t.deepEqual(await walk(0, limit, from, to, 1), idsIn(0, some));
      }
    }
    // A token of the whole list leads to nothing outside of the range.
    const first = pageTokens(9, ORDERS[0]).next(
      { rows: rows.filter((row) => row.id === idsIn(0, rows)[0]), hasMore: true },
      ORDERS[0].keyOf,
    );
    const request = pageTokens(9, ORDERS[0]).toPageRequest({ pageToken: first }, ORDERS[0].range(undefined, at(1)));
    t.true((await store.scans.in(0)(request)).rows.every(({ time }) => isLess(time, at(1))));
    // A text id is a caller's: one that PostgreSQL would refuse is nobody's.
    const [{ id } = { id: '' }] = rows;
    for (const nobodys of ['', '\0', 'é', '\ud800', `${id} `, `${id}\n`, 'x'.repeat(10_000)]) {
      t.is(await store.scans.find(nobodys), undefined);
      t.is(await store.transaction(({ scans }) => scans.lock(nobodys)), undefined);
    }
    t.deepEqual(await store.scans.findAll(['\0', id, id]), rows.slice(0, 1));
    await store.transaction(({ scans }) => scans.update({ ...(rows[0] as Scan), place: 9 }));
    t.is((await store.scans.find(id))?.place, 9);
    t.throws(() => orderBy(SCANS, 'wrong', ['id', 'time']), { message: /^wrong: an order is of fields/ });
  });
}
