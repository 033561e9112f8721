/**
 * Whose rows are whose, by the table of test/support/contract/resources.ts: each operation is asked with the key of
 * another account. What a service whose proto file says `owned` has does not exist for it; all else is the same.
 */
import type { DescField } from '@bufbuild/protobuf';
import { openEvents } from '../support/calls/event-source.ts';
import { nextOf, type RestClient, readAll, walk } from '../support/calls/rest-client.ts';
import {
  EVENT_STREAM,
  EVENTS,
  fill,
  type Ids,
  LISTS,
  MAKERS,
  makerOf,
  PUBLIC,
  type PublicOperation,
  requestInto,
  requestsTo,
  requestTo,
  sibling,
} from '../support/contract/resources.ts';
import { sharing } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';

const test = sharing(undefined, async (t) => {
  const stack = await startTestStack(t);
  const otherKey = await stack.operator.keyOf({ perMinute: 1_000_000, perDay: 1_000_000 });
  return { ...stack, otherKey, other: stack.rest.withKey(otherKey) };
});

type Row = Readonly<Record<string, unknown>>;

/** Ids of which there are none: a greater one, and a text. */
const ABSENT = ['999999999', 'no-such-thing-as-this'];

/** What an error says, without the id that was asked for. */
const told = ({ status, text, headers }: Awaited<ReturnType<RestClient['get']>>, id: string) => [
  status,
  text.replaceAll(id, 'ID'),
  [...headers.keys()].filter((name) => !/^(date|ratelimit|x-r)/.test(name)).sort(),
];

/** The parameters with an id that names nothing, and that id. */
function missingOf({ idName = '' }: PublicOperation, ids: Ids) {
  const id = ABSENT[/^\d+$/.test(ids[idName] ?? '') ? 0 : 1] ?? '';
  return { ids: { ...ids, [idName]: id }, id };
}

/** Each one that names a resource, with the one that it is about, and the path of one that does not exist. */
async function named(rest: RestClient, holds: (operation: PublicOperation) => boolean) {
  const isNamed = (operation: PublicOperation) =>
    operation.idName !== undefined && operation.response.list === undefined;
  const requests = await requestsTo(rest, (operation) => isNamed(operation) && holds(operation));
  return requests.map((request) => {
    const { operation, ids } = request;
    const id = ids[operation.idName ?? ''] ?? '';
    const missing = missingOf(operation, ids);
    const absent = fill(operation.template, missing.ids);
    return { ...request, id, missing, absent, own: fill(operation.resource, ids) };
  });
}

test.serial('Of an account - what names a thing of another one gets the 404 of what is not there', async (t) => {
  const { rest, other } = t.context;
  const owned = await named(rest, ({ isOwned }) => isOwned);
  const hasOwned = PUBLIC.some(({ isOwned, idName }) => isOwned && idName !== undefined);
  t.is(owned.length > 0, hasOwned);
  for (const { operation, method, path, json, id, missing, absent, own } of owned) {
    const before = sibling(operation, 'GET') && (await rest.get(own));
    for (const headers of [
      {},
      { 'if-match': '*' },
      { 'if-match': '"x"' },
      { 'if-none-match': '*' },
      { 'idempotency-key': `${operation.name} ${id}`.replace(' ', '-') },
    ] as Record<string, string>[]) {
      const foreign = await other.send(method, path, { json, headers });
      t.is(foreign.status, 404, `${method} ${path} ${JSON.stringify(headers)}: ${foreign.text}`);
      t.deepEqual(told(foreign, id), told(await other.send(method, absent, { json, headers }), missing.id));
    }
    if (method === 'GET') t.is((await other.send('HEAD', path)).status, 404);
    if (before) t.deepEqual([(await rest.get(own)).text, before.status], [before.text, 200], 'it is as it was');
    t.true((await rest.send(method, path, { json })).status < 300, `${method} ${path} of its own account`);
  }
});

test.serial('For all - what is not of an account is read by others as by the one who made it', async (t) => {
  const { rest, other } = t.context;
  const common = await named(rest, ({ isOwned, method }) => !isOwned && method === 'GET');
  if (common.length === 0) t.pass('all is of accounts');
  for (const { path } of common) {
    t.deepEqual([(await other.get(path)).status, (await other.get(path)).text], [200, (await rest.get(path)).text]);
  }
});

for (const list of LISTS) {
  const what = list.isOwned ? 'has only what the account has, by filters, ids and tokens too' : 'is the same for all';
  test.serial(`GET ${list.template} - ${what}`, async (t) => {
    const { rest, other } = t.context;
    const { ids } = await requestTo(rest, list);
    if ((await requestInto(rest, list, ids)) === undefined) return void t.pass('nothing makes what it lists');
    // Each account has its own list within a thing of its own.
    const isWithinOwned = makerOf(list)?.isOwned === true;
    const otherIds = isWithinOwned ? (await requestTo(other, list)).ids : ids;
    const [path, otherPath] = [fill(list.template, ids), fill(list.template, otherIds)];
    const makeOne = async (by: RestClient, within: Ids): Promise<Row> => {
      const { path: at = '', json } = (await requestInto(by, list, within)) ?? {};
      return by.created(at, json);
    };
    const mine = [await makeOne(rest, ids), await makeOne(rest, ids)];
    const theirs = await makeOne(other, otherIds);
    const key = list.response.list?.message?.fields[0]?.jsonName ?? '';
    const keys = (rows: readonly Row[]) => rows.map((row) => row[key]);
    const [all, seen] = [keys(await readAll<Row>(rest, path)), keys(await readAll<Row>(other, otherPath))];
    for (const one of keys(mine)) t.deepEqual([all.includes(one), seen.includes(one)], [true, !list.isOwned]);
    for (const one of keys([theirs])) t.deepEqual([all.includes(one), seen.includes(one)], [!list.isOwned, true]);
    if (!list.isOwned) return;
    if (isWithinOwned) {
      const missing = missingOf(list, ids);
      const [foreign, none] = [await other.get(path), await other.get(fill(list.template, missing.ids))];
      t.deepEqual(told(foreign, ids[list.idName ?? ''] ?? ''), told(none, missing.id), path);
    }
    const isForeign = (rows: readonly Row[]) => keys(rows).some((one) => keys(mine).includes(one));
    for (const [name] of list.queryParameters) {
      const values = name === list.idList?.jsonName ? keys(mine) : mine.map((row) => row[name]);
      for (const value of values.filter((one) => one !== undefined)) {
        const query = `${otherPath}?${name}=${encodeURIComponent(String(value))}`;
        t.false(isForeign((await walk<Row>(other, query)).flat()), query);
      }
    }
    const token = nextOf((await rest.get(`${path}?limit=1`)).headers)?.replace(path, otherPath);
    t.false(token === undefined || isForeign((await walk<Row>(other, token)).flat()), `${token}`);
  });
}

/** The fields of an event that have what services of accounts make. */
const resourceFields = (EVENTS?.response.list?.message?.fields ?? []).filter(({ oneof }) => oneof !== undefined);
const isOwnedType = ({ message }: DescField) =>
  MAKERS.some(({ isOwned, output }) => isOwned && output.typeName === message?.typeName);
const ownedFields = resourceFields.filter(isOwnedType).map(({ jsonName }) => jsonName);

test.serial('Events - an account has its own and those for all: listed, by type, by cursor, in streams', async (t) => {
  const { rest, other, otherKey, key } = t.context;
  if (EVENTS === undefined || EVENT_STREAM === undefined) return void t.pass('there are no events');
  const [{ template }, { template: streamAt }] = [EVENTS, EVENT_STREAM];
  const newest = async (by: RestClient) => Number((await readAll<Row>(by, template)).at(-1)?.id ?? 0);
  const after = Math.max(await newest(rest), await newest(other));
  const make = async (by: RestClient) => {
    for (const { method, path, json } of await requestsTo(by, ({ isRead }) => !isRead))
      await by.send(method, path, { json });
  };
  const live = (whose: string) => openEvents(`${rest.url}${streamAt}`, whose);
  const [now, otherNow] = [await live(key), await live(otherKey)];
  for (const source of [now, otherNow]) t.is((await source.next())?.event, 'ready');
  await make(rest);
  await make(other);
  await make(rest);
  const read = async (by: RestClient, query = '') =>
    (await walk<Row>(by, `${template}?limit=100&after=${after}${query}`)).flat();
  const [mine, theirs] = [await read(rest), await read(other)];
  const owned = (events: readonly Row[]) =>
    events.filter((event) => ownedFields.some((name) => event[name] !== undefined));
  const idsOf = (events: readonly Row[]) => events.map(({ id }) => id);
  t.deepEqual([owned(mine).length > 0, owned(theirs).length > 0], [ownedFields.length > 0, ownedFields.length > 0]);
  const found = idsOf(owned(mine)).filter((id) => idsOf(owned(theirs)).includes(id));
  t.deepEqual(found, [], 'no event of an account is seen by two');
  const common = (events: readonly Row[]) => events.filter((event) => !owned(events).includes(event));
  t.deepEqual(common(mine), common(theirs));
  t.is(common(mine).length > 0, resourceFields.length > ownedFields.length);
  for (const type of new Set(mine.map((event) => String(event.type)))) {
    const ofType = theirs.filter((event) => event.type === type);
    t.deepEqual(await read(other, `&types=${type}`), ofType, type);
  }
  const [foreign] = owned(mine);
  if (foreign !== undefined) {
    const behind = await other.get(`${template}?limit=1&after=${Number(foreign.id) - 1}`);
    t.false(idsOf(behind.body).includes(foreign.id), 'by cursor');
  }
  for (const [whose, events, begun] of [
    [otherKey, theirs, otherNow],
    [key, mine, now],
  ] as const) {
    const replayed = await openEvents(`${rest.url}${streamAt}?after=${after}`, whose);
    for (const source of [begun, replayed]) {
      const streamed = await source.take(events.length);
      source.close();
      const found = streamed.map(({ data }) => data);
      t.deepEqual(found, events, 'server-sent events');
    }
  }
});
