/** Lists in the bodies of REST requests, by Envoy's own transcoder: what it would bend is refused and named. */
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { edgeService } from '../../src/edge/edge-service.ts';
import { ApiError } from '../../src/errors.ts';
import { type ListEdge, startListEdge } from '../support/lists/edge.ts';
import { parcelOperations } from '../support/lists/parcels.ts';

const test = anyTest as TestFn<ListEdge>;
type Test = ExecutionContext<ListEdge>;

test.before(async (t) => {
  t.context = await startListEdge();
});
test.after.always((t) => t.context.close());

const edge = edgeService(parcelOperations);

/** Envoy refuses the body, and the server says so. */
async function refused(t: Test, method: 'POST' | 'PATCH', body: string, message: string, at?: string): Promise<void> {
  const { status, text, parcel } = await t.context.send(method, body, at);
  t.is(status, 400, body);
  t.is(parcel, undefined, body);
  const path = at ?? (method === 'POST' ? '/parcels' : '/parcels/7');
  const request = { method, path, status, reply: text, contentType: 'application/json' };
  const error = await t.throwsAsync(edge.refuse(request, {}), { instanceOf: ApiError });
  t.like(error, { code: 'INVALID_ARGUMENT', message }, body);
}

test.serial('Lists - pass as they are written, in any JSON', async (t) => {
  const bodies = [
    { labels: [], itemSizes: [], lines: [] },
    { labels: ['a', '', ' ]', '{"', '\\', 'null', 'ü😀\n'], itemSizes: [0, -7], petIds: ['9007199254740993'] },
    { lines: [{ name: 'a', notes: ['b', 'c'] }, {}], best: { notes: ['"'] }, colors: ['red', 'blue'], name: 'x' },
  ];
  for (const body of bodies) {
    const kept = Object.entries(body).filter(([, value]) => value.length !== 0);
    for (const text of [JSON.stringify(body), JSON.stringify(body, undefined, '\t')]) {
      const { status, parcel } = await t.context.send('POST', text);
      t.is(status, 200, text);
      t.deepEqual(parcel, Object.fromEntries(kept), text);
    }
  }
  const null_ = '{"labels":null,"item_sizes":["1",2.0],"unknown":[[null]],"best":{"labels":"a","notes":null}}';
  t.deepEqual((await t.context.send('POST', null_)).parcel, { itemSizes: [1, 2], best: {} });
  t.deepEqual((await t.context.send('POST', 'null')).parcel ?? {}, {});
});

const NO_LISTS = [
  ['{"labels":"a"}', 'labels: "a" is not a list'],
  ['{"labels":1}', 'labels: 1 is not a list'],
  ['{"labels":{}}', 'labels: {} is not a list'],
  ['{"name":"x","labels" : true , "y":1}', 'labels: true is not a list'],
  ['{"\\u006cabels":"a,b"}', 'labels: "a,b" is not a list'],
  ['{"itemSizes":7}', 'itemSizes: 7 is not a list'],
  ['{"item_sizes":"7"}', 'itemSizes: "7" is not a list'],
  ['{"colors":"red"}', 'colors: "red" is not a list'],
  ['{"lines":{"name":"a"}}', 'lines: {"name":"a"} is not a list'],
  ['{"best":{"notes":"a"}}', 'best.notes: "a" is not a list'],
  ['{"lines":[{"notes":[]},{"notes":"]"}]}', 'lines[1].notes: "]" is not a list'],
] as const;

const NO_ITEMS = [
  ['{"labels":[null]}', 'labels[0]: null is not a string'],
  ['{"labels":["a",null,"b"]}', 'labels[1]: null is not a string'],
  ['{"labels":[["a"]]}', 'labels[0]: ["a"] is not a string'],
  ['{"labels":["[",[]]}', 'labels[1]: [] is not a string'],
  ['{"labels":["a",1]}', 'labels: 1 is not a string'],
  ['{"labels":[{"a":[]}]}', 'labels[0]: {"a":[]} is not a string'],
  ['{"itemSizes":[1,null]}', 'itemSizes[1]: null is not a whole number'],
  ['{"itemSizes":[1.5]}', 'itemSizes: 1.5 is not a whole number'],
  ['{"itemSizes":[1,"1,2"]}', 'itemSizes: "1,2" is not a whole number'],
  ['{"petIds":[9223372036854775808]}', 'petIds: 9223372036854775808 is out of range'],
  ['{"petIds":[[1]]}', 'petIds[0]: [1] is not a whole number'],
  ['{"colors":["red","green"]}', 'colors: "green" is none of red, blue'],
  ['{"colors":[null]}', 'colors[0]: null is none of red, blue'],
  ['{"lines":[{},null]}', 'lines[1]: null is not an object'],
  ['{"lines":[[{}]]}', 'lines[0]: [{}] is not an object'],
  ['{"lines":["a"]}', 'lines[0]: "a" is not an object'],
  ['{"lines":[{"name":"a","notes":["b",null]}]}', 'lines[0].notes[1]: null is not a string'],
  ['{"lines":[{"name":1}]}', 'lines[0].name: 1 is not a string'],
] as const;

test.serial('Lists - another value is refused, and named', async (t) => {
  for (const [body, message] of NO_LISTS) await refused(t, 'POST', body, message);
});

test.serial(
  'Lists - an item of another type is refused; a null, a list or an object is named with its index',
  async (t) => {
    for (const [body, message] of NO_ITEMS) await refused(t, 'POST', body, message);
  },
);

test.serial('Lists - one that is given twice is refused', async (t) => {
  await refused(t, 'POST', '{"labels":["a"],"labels":["b"]}', 'labels: ["b"] is given more than once');
  await refused(t, 'POST', '{"itemSizes":[1],"item_sizes":[2]}', 'itemSizes: [2] is given more than once');
});

test.serial('Lists - no spelling of the path passes unchecked', async (t) => {
  for (const path of ['/parcels/', '/parcels?x=1', '/p%61rcels']) {
    const { status, parcel } = await t.context.send('POST', '{"labels":"a"}', path);
    t.true(status >= 400, path);
    t.is(parcel, undefined, path);
  }
});

test.serial('Lists - a long wrong value is quoted in part', async (t) => {
  await refused(t, 'POST', `{"labels":"${'x'.repeat(60_000)}"}`, `labels: "${'x'.repeat(59)}… is not a list`);
});

test.serial('Lists that may be absent - an array is there, also an empty one; absent and null are not', async (t) => {
  const sent = async (body: string) => (await t.context.send('PATCH', body)).parcel;
  t.deepEqual(await sent('{"labels":["a","b"]}'), { labels: { values: ['a', 'b'] } });
  t.deepEqual(await sent('{"labels":[]}'), { labels: {} });
  t.deepEqual(await sent(' { "name" : "x" , "labels" : [ ] , "z" : [ 1 ] } '), { name: 'x', labels: {} });
  t.deepEqual(await sent('{"labels":null,"name":"x"}'), { name: 'x' });
  t.deepEqual(await sent('{"name":"x"}'), { name: 'x' });
});

test.serial('Lists that may be absent - another value is refused, and an item with its index', async (t) => {
  await refused(t, 'PATCH', '{"labels":"a"}', 'labels: "a" is not a list');
  await refused(t, 'PATCH', '{"labels":{"values":["a"]}}', 'labels: {"values":["a"]} is not a list');
  await refused(t, 'PATCH', '{"labels":["a",null]}', 'labels[1]: null is not a string');
  await refused(t, 'PATCH', '{"labels":["a",7]}', 'labels: 7 is not a string');
});

test.serial('Lists - what is not JSON is refused as ever', async (t) => {
  for (const body of ['{"labels":["a"}', '{"labels":["a"]', '{"labels":[}', '{"labels"', '{"labels":[1}]']) {
    const { status, parcel } = await t.context.send('PATCH', body);
    t.is(status, 400, body);
    t.is(parcel, undefined, body);
  }
});
