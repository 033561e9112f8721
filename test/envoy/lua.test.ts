/**
 * Runs the functions behind Envoy's Lua filters with LuaJIT, as Envoy does: their own tests (envoy/test), JSON, and
 * what json.lua refuses or passes on of lists in the bodies of REST requests, as the server words it. The filters
 * themselves run in Envoy in most other tests, with lists in examples/harbour.
 */
import { isUtf8 } from 'node:buffer';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fromJson, type JsonObject, type Message, toJson } from '@bufbuild/protobuf';
import type { ExecutionContext } from 'ava';
import { bodiesToRead } from '../../envoy/config/json.ts';
import { luaSettings, toLua } from '../../envoy/config/lua.ts';
import { FINDINGS } from '../../envoy/config/operations.ts';
import { Finding, RefuseRequest } from '../../gen/apiplatform/edge/v1/edge.ts';
import { readConfig } from '../../src/platform/config/config.ts';
import { edgeService } from '../../src/platform/edge/edge-service.ts';
import { ApiError } from '../../src/platform/errors.ts';
import type { Operation } from '../../src/platform/proto/operations.ts';
import { checkParameters } from '../../src/platform/protocols/rest/requests.ts';
import { parcelMessage, parcelOperations } from '../support/lists/parcels.ts';
import { findProgram, missing } from '../support/machine/find-program.ts';
import { testUnless } from '../support/service/sharing.ts';

const test = testUnless(missing('luajit'));
const luajit = findProgram(['luajit']);

/** Runs a script in the repository's folder. Without LuaJIT the output is empty. */
function runLua(args: readonly string[], input = ''): { output: string; errors: string } {
  if (luajit === undefined) return { output: '', errors: 'there is no LuaJIT' };
  const { stdout, stderr, error } = spawnSync(luajit, args, { input, encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (error) throw error;
  return { output: stdout, errors: stderr };
}

const FOLDER = 'envoy/test';
const SETTINGS = ['-e', luaSettings({ ...readConfig({}), edgeSecret: 'the-secret-of-the-edge-in-tests' })];

const files = readdirSync(FOLDER).filter((name) => name.endsWith('_test.lua'));
const { output, errors } = runLua([...SETTINGS, `${FOLDER}/run.lua`, ...files.map((name) => `${FOLDER}/${name}`)]);
/** In TAP, as run.lua writes it: a line for each test, and what follows is a stack trace, or the plan at the end. */
const luaTests = output.split(/^(?=(?:not )?ok )/m);

test('Lua - every test of the filters runs to its end', (t) => {
  t.is(errors, '');
  t.true(luaTests.length > files.length);
  t.true(output.endsWith(`\n1..${luaTests.length}\n`));
});

for (const text of luaTests) {
  const [, title = text] = /^[^-]* - (.*)/.exec(text) ?? [];
  test(`Lua - ${title}`, (t) => t.true(text.startsWith('ok '), text));
}

test('Findings - json.lua names those of edge.proto, and each of them', (t) => {
  const named = readFileSync('envoy/json.lua', 'utf8').match(/(?<=")[A-Z]+(?:_[A-Z\d]+)+(?=")/g);
  const numbered = Object.keys(FINDINGS).filter((name) => name !== 'UNSPECIFIED');
  t.deepEqual([...new Set(named)].toSorted(), numbered.toSorted(), 'Finding in edge.proto has others than json.lua');
});

/** Every key is as long as one may be; a renewal, a question and an address go with each. */
const REMEMBER = `
package.path = "envoy/?.lua"
local allowance, keys = require("allowance"), require("keys")
local most = 0
for i = 1, 25000 do
  local key, address = ("Bearer %092d"):format(i), ("%x:%x:%x:%x:0:0:0:1"):format(65536 - i, i, 65536 - i, i)
  keys.learn(key, 0, 'write')
  keys.is_known(key, 60000)
  keys.ask(key .. "?", 60000)
  for _, name in ipairs({ "key ", "none ", "open ", "same key " }) do allowance.spend(name, address, 60000) end
  most = math.max(most, collectgarbage("count"))
end
print(most)`;

test('Lua - a thread of Envoy keeps at most 16 MiB, whatever keys and addresses callers have', (t) => {
  const { output, errors } = runLua([...SETTINGS, '-e', REMEMBER]);
  t.is(errors, '');
  t.log(output);
  t.true(Number(output) < 16 * 1024, `${output} KiB`);
});

const READ_JSON = `
package.path = "envoy/?.lua"
local read = require("json").read
for hex in io.lines() do
  local text = hex:gsub("..", function(code) return string.char(tonumber(code, 16)) end)
  print(read("POST", "/", text) == nil)
end`;

/** Every text of at most so many of these tokens. */
function textsOf(tokens: readonly string[], length: number): string[] {
  if (length === 0) return [''];
  return textsOf(tokens, length - 1).flatMap((text) => [text, ...tokens.map((token) => text + token)]);
}

const CHARS = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code));
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  numbers: textsOf([...'-+01.e'], 5).map((number) => `[1,${number}]`),
  structures: textsOf([...'[]{},:', '"a"', '1'], 5),
  'words and white space': CHARS.flatMap((char) => [`[1${char}]`, `{"a"${char}:1}`, `nul${char}`, `${char}true`]),
  texts: CHARS.flatMap((char) => [`"${char}"`, `"a\\${char}"`, `"\\\\${char}"`, `"\\u00${char}0"`, `'${char}'`]),
  'escapes and quotes': textsOf(['\\', '"', "'", 'u', '004', 'x', '\n'], 5).map((text) => `{"a":"${text}"}`),
};

/** Checks that of these texts those are read that are JSON. */
function readsOnly(t: ExecutionContext, texts: readonly Buffer[], isJson: (text: Buffer) => boolean): void {
  const input = texts.map((text) => `${text.toString('hex')}\n`).join('');
  const { output, errors } = runLua([...SETTINGS, '-e', READ_JSON], input);
  t.is(errors, '');
  const read = output.trimEnd().split('\n');
  const wrong = texts.filter((text, index) => read[index] !== String(isJson(text))).map(String);
  t.deepEqual([read.length, wrong], [texts.length, []]);
}

for (const [what, texts] of Object.entries(TEXTS)) {
  test(`Lua JSON - accepts what JSON.parse accepts, and nothing else: ${what}`, (t) => {
    const distinct = [...new Set(texts)].filter((text) => text !== '');
    const bytes = distinct.map((text) => Buffer.from(text));
    readsOnly(t, bytes, (text) => isJson(text.toString()));
  });
}

/** The bytes with which the rows of the table of UTF-8 begin and end (RFC 3629, section 4), and those beside them. */
const EDGES = [
  ...[0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef],
  ...[0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff],
];

test('Lua JSON - is UTF-8', (t) => {
  const pairs = EDGES.flatMap((first) => EDGES.map((second) => [first, second]));
  const texts = pairs.flatMap((start) => pairs.map((end) => Buffer.from([0x22, ...start, ...end, 0x22])));
  readsOnly(t, texts, isUtf8);
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const edge = edgeService(parcelOperations);

const READ_BODIES = `
package.path = "envoy/?.lua"
local bodies = ${toLua(bodiesToRead(parcelOperations))}
package.loaded.settings = { max_depth = 100, bodies = bodies, findings = ${toLua(FINDINGS)} }
for method, path, body in io.read("*a"):gmatch("(%S+) (%S+) ([^%z]*)%z") do
  local found, text = require("json").read(method, path, body)
  io.write(found and ("!%d %s %s"):format(found.finding, found.at, found.value) or text, "\\0")
end`;

const PATHS = { POST: '/parcels', PATCH: '/parcels/7' } as const;
type Method = keyof typeof PATHS;

/** What the server makes of a refusal by Envoy. */
function refuse(
  method: string,
  reply: string,
  path: string = PATHS[method as Method],
  finding = Finding.FINDING_UNSPECIFIED as Finding,
  at = '',
) {
  const request = { method, path, reply: Buffer.from(reply), finding, at };
  const json = { contentType: 'application/json', status: 400 };
  return edge.refuse(RefuseRequest.fromPartial({ ...request, ...json }), { protocol: { name: 'REST' } });
}

/** Checks the body of each request to POST or PATCH. Resolves with the error, or with the parcel of the new body. */
async function check(
  method: Method,
  body: string,
  path: string = PATHS[method],
  type = parcelMessage(method === 'POST' ? 'NewParcel' : 'ParcelPatch'),
): Promise<unknown> {
  const { output, errors } = runLua(['-e', READ_BODIES], `${method} ${path}/?x=1 ${body}\0`);
  if (errors !== '' || !output.endsWith('\0')) throw new Error(errors);
  const text = output.slice(0, -1);
  const [, finding, at, value = ''] = /^!(\d+) (\S*) (.*)$/s.exec(text) ?? [];
  if (finding !== undefined) {
    const refused = refuse(method, value, path, Number(finding) as Finding, at);
    return refused.catch((error: unknown) => (error instanceof ApiError ? error.message : error));
  }
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

test('Lists - another value is refused, and named', async (t) => {
  for (const [body, message] of [
    ['{"labels":{}}', 'labels: {} is not a list'],
    ['{"name":"x","labels" : true , "y":1}', 'labels: true is not a list'],
    ['{"item_sizes":"7"}', 'itemSizes: "7" is not a list'],
    ['{"\\u006c\\u0061bels":"a"}', 'labels: "a" is not a list'],
    ['{"lines":{"name":"a"}}', 'lines: {"name":"a"} is not a list'],
    ['{"best":{"notes":"a"}}', 'best.notes: "a" is not a list'],
    ['{"lines":[{"notes":[]},{"notes":"]"}]}', 'lines[1].notes: "]" is not a list'],
    [`{"labels":"${'x'.repeat(60_000)}"}`, `labels: "${'x'.repeat(188)}… is not a list`],
  ] as const)
    t.is(await check('POST', body), message);
});

test('Lists - an item of another type is refused; a null, a list or an object is named with its index', async (t) => {
  for (const [body, message] of [
    ['{"labels":["a",null,"b"]}', 'labels[1]: null is not a string'],
    ['{"labels":["[",[]]}', 'labels[1]: [] is not a string'],
    ['{"labels":[{"a":[]}]}', 'labels[0]: {"a":[]} is not a string'],
    ['{"itemSizes":[1,null]}', 'itemSizes[1]: null is not a whole number'],
    ['{"colors":[null]}', 'colors[0]: null is none of red, blue'],
    ['{"lines":[{},null]}', 'lines[1]: null is not an object'],
    ['{"lines":[[{}]]}', 'lines[0]: [{}] is not an object'],
    ['{"lines":[{"name":"a","notes":["b",null]}]}', 'lines[0].notes[1]: null is not a string'],
  ] as const)
    t.is(await check('POST', body), message);
});

test('Lists that may be absent - an array is there, also an empty one; absent and null are not', async (t) => {
  for (const [body, parcel] of [
    ['{"labels":["a","b"]}', { labels: { values: ['a', 'b'] } }],
    ['{"labels":[]}', { labels: {} }],
    [' { "name" : "x" , "labels" : [ ] , "z" : [ 1 ] } ', { name: 'x', labels: {} }],
    ['{"labels":null,"name":"x"}', { name: 'x' }],
    ['{"labels":{"values":["a"]}}', 'labels: {"values":["a"]} is not a list'],
  ] as const) {
    t.deepEqual(await check('PATCH', body), parcel, body);
  }
});

test('Bodies - one that is the whole request is read by its fields, without those in the path', async (t) => {
  const [batch, close] = ['CreateParcelsRequest', 'CloseParcelRequest'].map(parcelMessage);
  const parcels = [{ labels: ['a'], price: '9007199254740993' }, { name: 'x' }];
  t.deepEqual(await check('POST', JSON.stringify({ parcels, x: 1 }), '/parcels:batch', batch), { parcels });
  const more = '{"reason":"full","parcelId":8,"parcel_id":8}';
  t.deepEqual(await check('POST', more, '/parcels/7:close', close), { reason: 'full' });
  for (const [body, message] of [
    ['[]', 'body: has a value of another type'],
    ['{"parcels":{}}', 'parcels: {} is not a list'],
    ['{"parcels":[{"labels":["a",null]}]}', 'parcels[0].labels[1]: null is not a string'],
    ['{"parcels":[],"parcels":[]}', 'parcels: is given more than once'],
    ['{"parcels":[{"name":"a","name":"b"}]}', 'parcels[0].name: is given more than once'],
  ] as const) {
    t.is(await check('POST', body, '/parcels:batch', batch), message);
  }
});

test('Verbs - another method is a 405 with what the path answers to, also with slashes and no JSON', async (t) => {
  for (const [method, path, allow] of [
    ...['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'].map((one) => [one, '/parcels/7:close', 'POST'] as const),
    ['GET', '/parcels/7:close//?x=1', 'POST'],
    ['GET', '/parcels:batch', 'POST'],
    ['DELETE', '/parcels/7', 'GET, HEAD, PATCH'],
    ['DELETE', '/parcels/7:open', 'GET, HEAD, PATCH'], // no verb of any path: an id
  ] as const) {
    for (const reply of ['unreadable JSON at 1', '']) {
      const error = await t.throwsAsync<ApiError>(refuse(method, reply, path));
      t.like(error, { code: 'METHOD_NOT_ALLOWED', headers: { allow } }, `${method} ${path}`);
    }
  }
  await t.throwsAsync(refuse('POST', '', '/parcels:open'), { message: 'nothing answers to POST /parcels:open' });
  const closing = parcelOperations.find(({ path }) => path.endsWith('/CloseParcel')) as Operation;
  t.notThrows(() => checkParameters('/parcels/7:close/', closing));
  // The transcoder takes this one for the verb.
  const slash = { message: 'nothing answers to POST /parcels/7/close' };
  t.throws(() => checkParameters('/parcels/7/close?x=1', closing), slash);
});
