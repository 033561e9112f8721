/** Orders of a list other than by an integer id, in a table whose ids are texts that the server makes. */
import { randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import { pageTokens } from '../../../src/platform/rpc/page-token.ts';
import { type Instant, instant, integer, table, text } from '../../../src/platform/tables/fields.ts';
import { pages } from '../../../src/platform/tables/pages.ts';
import { orderBy } from '../../../src/platform/tables/sort-order.ts';
import { createStore } from '../../../src/platform/tables/store.ts';
import { resource } from '../../../src/platform/tables/table.ts';
import { TABLES } from '../../../src/schema.ts';
import { test } from './database.ts';

const SCANS = table('scans', { id: text('id'), place: integer('place'), time: instant('time') });
type Scan = ReturnType<typeof SCANS.toRecord>;
const ORDERS = [orderBy(SCANS, 'oldest', ['time', 'id']), orderBy(SCANS, 'newest', ['time', 'id'], true)] as const;

/** Five instants, each of several scans, also before 1970. Their seconds, -6, 2 and 10, have another order as texts. */
const at = (step: number): Instant => ({
  seconds: BigInt(Math.floor(step / 2) * 8 - 6),
  nanos: (step % 2) * 999_999_999,
});
const stepOf = ({ time: { seconds, nanos } }: Scan) => (Number(seconds) + 6) / 4 + Math.sign(nanos);

/** From a step on, and up to another one. */
const RANGES: readonly (readonly (number | undefined)[])[] = [[], [1, 3], [undefined, 2], [2], [3, 3]];

export function orderTests(): void {
  test('Orders - pages of any size have each row of the range once, by its values and then its id', async (t) => {
    const up = (knex: Knex) =>
      knex.schema.createTable('scans', (columns) => {
        columns.text('id').primary();
        columns.integer('place').notNullable();
        columns.bigInteger('time_seconds').notNullable();
        columns.integer('time_nanos').notNullable();
      });
    const engine = await t.context.database.open({}, [{ name: '900-scans', up, isAdditive: false }]);
    const lists = ORDERS.map((order) => pages(engine, SCANS, (all) => engine.knex('scans').select(all), order));
    const options = { newId: randomUUID, order: orderBy(SCANS, 'page', ['id']) };
    const store = createStore(engine, { ...TABLES, scans: (opened) => resource(opened, SCANS, options) });
    t.teardown(() => store.close());
    const rows: Scan[] = [];
    for (let index = 0; index < 20; index += 1) {
      const fields = { place: index % 3, time: at((index * 7) % 5) };
      rows.push(await store.write(({ scans }) => scans.insert(fields)));
    }
    rows.sort((one, other) => stepOf(one) - stepOf(other) || (one.id < other.id ? -1 : 1));
    for (const [index, order] of ORDERS.entries()) {
      const tokens = pageTokens(9, order);
      const read = async (limit: number, [from, to]: readonly (number | undefined)[], place?: number, first = '') => {
        const range = order.range(from === undefined ? from : at(from), to === undefined ? to : at(to));
        const found: Scan[] = [];
        for (let pageToken = first; ; ) {
          const page = await lists[index]?.(tokens.toPageRequest({ limit, pageToken }, range), { place });
          if (page === undefined || page.rows.length > limit) throw new Error('a page is too large');
          if (page.rows.length === 0 && pageToken !== first) throw new Error('a page is promised that is empty');
          found.push(...page.rows);
          pageToken = tokens.next(page, order.keyOf);
          if (pageToken === '') return found;
        }
      };
      for (const limit of [1, 3, 19, 20, 100]) {
        for (const range of RANGES) {
          const [from = 0, to = 5] = range;
          const inRange = rows.filter((row) => stepOf(row) >= from && stepOf(row) < to);
          const expected = order.isDescending ? inRange.toReversed() : inRange;
          t.deepEqual(await read(limit, range), expected);
          const ofPlace = expected.filter(({ place }) => place === 1);
          t.deepEqual(await read(limit, range, 1), ofPlace);
        }
      }
      const [first] = order.isDescending ? rows.toReversed() : rows;
      const outside = tokens.next({ rows: first ? [first] : [], hasMore: true }, order.keyOf);
      t.deepEqual(await read(20, [2, 3], undefined, outside), await read(20, [2, 3]), 'a token of the whole list');
    }
    // A text id is a caller's: one that PostgreSQL would refuse is nobody's.
    const [one = { id: '' } as Scan] = rows;
    for (const nobodys of ['', '\0', 'é', '\ud800', `${one.id} `, `${one.id}\n`, 'x'.repeat(10_000)]) {
      t.is(await store.scans.find(nobodys), undefined);
      t.is(await store.transaction(({ scans }) => scans.lock(nobodys)), undefined);
    }
    t.deepEqual(await store.scans.findAll(['\0', one.id, one.id]), [one]);
    await store.transaction(({ scans }) => scans.update({ ...one, place: 9 }));
    t.is((await store.scans.find(one.id))?.place, 9);
    t.throws(() => orderBy(SCANS, 'wrong', ['id', 'time']), { message: /^wrong: an order is of fields/ });
  });
}
