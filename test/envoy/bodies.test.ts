/**
 * Lists in the bodies of REST requests: what json.lua refuses, as the server words it, and what it passes on. Through
 * Envoy: the lists of examples/harbour.
 */
import { fromJson, type JsonObject, type Message, toJson } from '@bufbuild/protobuf';
import { bodiesToRead } from '../../envoy/config/json.ts';
import { toLua } from '../../envoy/config/lua.ts';
import { ApiError } from '../../src/platform/errors.ts';
import { edgeService } from '../../src/platform/rest/edge-service.ts';
import { parcelMessage, parcelOperations } from '../support/lists/parcels.ts';
import { luaTest, runLua } from './luajit.ts';

const test = luaTest();
const edge = edgeService(parcelOperations);

const SCRIPT = `
package.path = "envoy/?.lua"
package.loaded.settings = { bodies = ${toLua(bodiesToRead(parcelOperations))} }
for method, path, body in io.read("*a"):gmatch("(%S+) (%S+) ([^%z]*)%z") do
  local wrong, text = require("json").read(method, path, body)
  io.write(wrong and "!" .. wrong or text, "\\0")
end`;

const PATHS = { POST: '/parcels', PATCH: '/parcels/7' } as const;
type Method = keyof typeof PATHS;

/** Checks the body of each request to POST or PATCH. Resolves with the error, or with the parcel of the new body. */
async function check(method: Method, body: string): Promise<unknown> {
  const { output, errors } = runLua(['-e', SCRIPT], `${method} ${PATHS[method]}/?x=1 ${body}\0`);
  if (errors !== '' || !output.endsWith('\0')) throw new Error(errors);
  const text = output.slice(0, -1);
  if (text.startsWith('!')) {
    const request = {
      method,
      path: PATHS[method],
      status: 400,
      reply: Buffer.from(text.slice(1)),
      contentType: 'application/json',
    };
    return edge
      .refuse(request, { protocol: { name: 'REST' } })
      .catch((error: unknown) => (error instanceof ApiError ? error.message : error));
  }
  const type = parcelMessage(method === 'POST' ? 'NewParcel' : 'ParcelPatch');
  // Like the transcoder, which ignores unknown fields.
  const parcel = fromJson(type, JSON.parse(text) as JsonObject, { ignoreUnknownFields: true });
  return toJson(type, parcel as Message);
}

test('Lists - pass as they are written, in any JSON', async (t) => {
  for (const body of [
    { labels: ['a', '', ' ]', '{"', '\\', 'null', 'ü😀\n'], itemSizes: [0, -7], petIds: ['9007199254740993'] },
    { lines: [{ name: 'a', notes: ['b', 'c'] }, {}], best: { notes: ['"'] }, colors: ['red', 'blue'], name: 'x' },
  ]) {
    for (const text of [JSON.stringify(body), JSON.stringify(body, undefined, '\t')]) {
      t.deepEqual(await check('POST', text), body, text);
    }
  }
  const odd = '{"labels":null,"item_sizes":["1",2.0],"unknown":[[null]],"best":{"labels":"a","notes":[]}}';
  t.deepEqual(await check('POST', odd), { itemSizes: [1, 2], best: {} });
});

const NO_LISTS = [
  ['{"labels":"a"}', 'labels: "a" is not a list'],
  ['{"labels":{}}', 'labels: {} is not a list'],
  ['{"name":"x","labels" : true , "y":1}', 'labels: true is not a list'],
  ['{"itemSizes":7}', 'itemSizes: 7 is not a list'],
  ['{"item_sizes":"7"}', 'itemSizes: "7" is not a list'],
  ['{"\\u006c\\u0061bels":"a"}', 'labels: "a" is not a list'],
  ['{"lines":{"name":"a"}}', 'lines: {"name":"a"} is not a list'],
  ['{"best":{"notes":"a"}}', 'best.notes: "a" is not a list'],
  ['{"lines":[{"notes":[]},{"notes":"]"}]}', 'lines[1].notes: "]" is not a list'],
  [`{"labels":"${'x'.repeat(60_000)}"}`, `labels: "${'x'.repeat(68)}… is not a list`],
] as const;

const NO_ITEMS = [
  ['{"labels":["a",null,"b"]}', 'labels[1]: null is not a string'],
  ['{"labels":["[",[]]}', 'labels[1]: [] is not a string'],
  ['{"labels":[{"a":[]}]}', 'labels[0]: {"a":[]} is not a string'],
  ['{"itemSizes":[1,null]}', 'itemSizes[1]: null is not a whole number'],
  ['{"colors":[null]}', 'colors[0]: null is none of red, blue'],
  ['{"lines":[{},null]}', 'lines[1]: null is not an object'],
  ['{"lines":[[{}]]}', 'lines[0]: [{}] is not an object'],
  ['{"lines":["a"]}', 'lines[0]: "a" is not an object'],
  ['{"lines":[{"name":"a","notes":["b",null]}]}', 'lines[0].notes[1]: null is not a string'],
] as const;

test('Lists - another value is refused, and named', async (t) => {
  for (const [body, message] of NO_LISTS) t.is(await check('POST', body), message);
});

test('Lists - an item of another type is refused; a null, a list or an object is named with its index', async (t) => {
  for (const [body, message] of NO_ITEMS) t.is(await check('POST', body), message);
});

test('Lists - what the transcoder finds in an item has no index: it counts only such items', async (t) => {
  const reply = 'parcel.item_sizes[0]: invalid value "1,2" for type TYPE_INT32';
  const refused = { method: 'POST', path: '/parcels', status: 400, contentType: 'application/json' };
  const request = { ...refused, reply: Buffer.from(reply) };
  await t.throwsAsync(edge.refuse(request, { protocol: { name: 'REST' } }), {
    message: 'itemSizes: "1,2" is not a whole number',
  });
});

test('Lists that may be absent - an array is there, also an empty one; absent and null are not', async (t) => {
  for (const [body, parcel] of [
    ['{"labels":["a","b"]}', { labels: { values: ['a', 'b'] } }],
    ['{"labels":[]}', { labels: {} }],
    [' { "name" : "x" , "labels" : [ ] , "z" : [ 1 ] } ', { name: 'x', labels: {} }],
    ['{"labels":null,"name":"x"}', { name: 'x' }],
    ['{"labels":"a"}', 'labels: "a" is not a list'],
    ['{"labels":{"values":["a"]}}', 'labels: {"values":["a"]} is not a list'],
    ['{"labels":["a",null]}', 'labels[1]: null is not a string'],
  ] as const) {
    t.deepEqual(await check('PATCH', body), parcel, body);
  }
});
