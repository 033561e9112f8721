/**
 * google.api.http as data: what of it is carried, and then read the same by Envoy's transcoder, by the server and by
 * json.lua; and what is refused at the start, since one of them would read it otherwise. What the server says of the
 * values that the transcoder refuses.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createFileRegistry, type JsonObject } from '@bufbuild/protobuf';
import { RefuseRequest } from '../../gen/apiplatform/edge/v1/edge.ts';
import { API_PACKAGE } from '../../src/identity.ts';
import { edgeService } from '../../src/platform/edge/edge-service.ts';
import { loadOperations, toOperation } from '../../src/platform/proto/operations.ts';
import { compareAsEnvoy, toLuaPattern } from '../../src/platform/proto/paths.ts';
import { checkParameters } from '../../src/platform/protocols/rest/requests.ts';
import { describeWith } from '../support/lists/parcels.ts';
import { findProgram, missing } from '../support/machine/find-program.ts';
import { testUnless } from '../support/service/sharing.ts';
import { startTranscoder } from '../support/service/transcoder.ts';

const test = testUnless(missing('luajit'));

const FIELDS = `
  int64 id = 1;
  string name = 2;
  Color color = 3;
  bool flag = 4;
  int32 small = 5;
  repeated int64 ids = 7;
  google.protobuf.Timestamp time = 8;`;
const MESSAGES = `
enum Color { COLOR_UNSPECIFIED = 0; red = 1; }
message Inner { string name = 1; repeated string list = 2; Inner own = 3; }
message Plain {
  string name = 1;
  optional int32 count = 2;
  google.protobuf.Timestamp time = 3;
  repeated int32 list = 4;
  oneof one { string left = 5; string right = 6; }
}
message Labels { repeated string values = 1; }
message M { ${FIELDS} Plain inner = 6; }
message Flat { ${FIELDS} }
message Other {
  int64 id = 1;
  double real = 2;
  bytes raw = 3;
  map<string, string> map = 4;
  Inner inner = 5;
  repeated Plain inners = 6;
  Labels labels = 7;
  Plain plain = 8;
  repeated int64 ids = 9;
}`;

/** A rule, and requests: what arrives, or nothing when no method has the path. */
const CARRIED: Readonly<Record<string, Readonly<Record<string, JsonObject | undefined>>>> = {
  'get: "/plain/{id}"': {
    'GET /plain/7': { id: '7' },
    'GET /plain/7///': { id: '7' },
    'GET /plain/7?name=a&color=red&flag=true&small=5&ids=1&ids=2&time=2024-01-01T00:00:00Z': {
      ...{ id: '7', name: 'a', color: 'red', flag: true, small: 5, ids: ['1', '2'] },
      time: '2024-01-01T00:00:00Z',
    },
    'HEAD /plain/7/': { id: '7' },
    'GET /plain/7/x': undefined,
    'GET /plain//7': undefined,
    'GET /plain/': undefined,
    'PUT /plain/7': undefined,
  },
  'get: "/a/{id}/b/{name}/{color}/{flag}/{small}"': {
    'GET /a/7/b/x/red/true/5/': { id: '7', name: 'x', color: 'red', flag: true, small: 5 },
  },
  'get: "/Lit-a.b~c_9/{name}"': { 'GET /Lit-a.b~c_9/x.y': { name: 'x.y' }, 'GET /Lit-aXb~c_9/x': undefined },
  'post: "/verb/{id}:do-it" body: "*"': {
    'POST /verb/7:do-it {"name":"n"}': { id: '7', name: 'n' },
    'POST /verb/7:other {}': undefined,
  },
  'post: "/verb/{name}:batchGet" body: "inner"': {
    'POST /verb/a:b:batchGet {"name":"n"}': { name: 'a:b', inner: { name: 'n' } },
  },
  'put: "/verb/{name}" body: "inner"': { 'PUT /verb/a:b {"name":"n"}': { name: 'a:b', inner: { name: 'n' } } },
  'post: "/verb:all" body: "*"': { 'POST /verb:all {"name":"n"}': { name: 'n' } },
  'patch: "/body/{id}" body: "inner"': {
    'PATCH /body/7?small=5 {"name":"n"}': { id: '7', small: 5, inner: { name: 'n' } },
  },
  'delete: "/body/{id}" body: "*"': { 'DELETE /body/7 {"name":"n"}': { id: '7', name: 'n' } },
  'post: "/no-body/{id}"': { 'POST /no-body/7?name=a': { id: '7', name: 'a' } },
  'get: "/over/{name}"': { 'GET /over/you': { name: 'you' } },
  'get: "/over/me"': { 'GET /over/me': {}, 'GET /over/me/': {} },
  'post: "/over/{name}" body: "*"': { 'POST /over/me {"small":5}': { name: 'me', small: 5 } },
  'post: "/over/{name}/x" body: "inner"': { 'POST /over/me/x {"name":"a"}': { name: 'me', inner: { name: 'a' } } },
  'post: "/{name}/me/x" body: "*"': { 'POST /any/me/x {"small":5}': { name: 'any', small: 5 } },
};

/** A rule, and what is said of it. `Other` is the request where it has what M has not. */
const REFUSED: Readonly<Record<string, string>> = {
  '': 'no path: write get',
  'get: ""': 'the path ""',
  'get: "x"': 'the path "x"',
  'get: "/x//y"': 'the path "/x//y"',
  'get: "/a:b/x"': 'the path "/a:b/x"',
  'get: "/x{id}"': 'the path "/x{id}"',
  'get: "/{name=**}"': 'a wildcard',
  'get: "/{name=docs}"': 'a field with a value',
  'get: "/{inner.name}"': 'inner.name: a field of a path is one of the request',
  'get: "/{id}/{id}"': 'id: a path has each field once',
  'get: "/{gone}"': 'gone: a field of a path is one of the request',
  'get: "/{ids}"': 'ids: a field of a path is one of the request: a whole number',
  'get: "/{time}"': 'time: a field of a path is',
  'get: "/x" additional_bindings: {get: "/y"}': 'additional_bindings: write a method for each path',
  'get: "/x" response_body: "inner"': 'response_body: let the method return',
  'custom: {kind: "PURGE" path: "/x"}': 'the method PURGE',
  'get: "/x" body: "*"': 'a body of GET',
  'post: "/x" body: "gone"': 'the body "gone": write "*"',
  'post: "/x" body: "ids"': 'the body "ids"',
  'post: "/x" body: "inner.name"': 'the body "inner.name"',
  'post: "/x/{id}" body: "id"': 'the body "id"',
  'get: "/x"': 'M.inner: it is in the query, which has no messages',
  'post: "/other" body: "labels"': 'the body "labels"',
  'post: "/other" body: "inners"': 'the body "inners"',
  'post: "/other" body: "map"': 'the body "map"',
  'post: "/other" body: "inner"': 'test.Inner, which contains itself: JSON of requests',
  'post: "/other" body: "*"': 'Other.real: JSON of requests has no such type here',
  'post: "/other" body: "plain"': 'Other.real: it is in the query',
};

const carried = Object.keys(CARRIED);
const refused = Object.keys(REFUSED);
const PACKAGE = `${API_PACKAGE}.test`;

/** Of each rule a method, on a line of its own. */
function service(name: string, rules: readonly string[]): string {
  const lines = rules.map((rule, index) => {
    const input = rule.includes('/other') ? 'Other' : name !== 'Refused' && !rule.includes('body:') ? 'Flat' : 'M';
    return `  rpc Rule${index}(${input}) returns (Flat) { option (google.api.http) = {${rule}}; }`;
  });
  return `service ${name} {\n${lines.join('\n')}\n}\n`;
}

const IMPORTS = ['google/api/annotations', 'google/protobuf/timestamp']
  .map((name) => `import "${name}.proto";\n`)
  .join('');
const HEAD = `syntax = "proto3";\npackage ${PACKAGE};\n${IMPORTS}`;

/** The descriptors of these services with all proto files, as `buf build` makes them. */
function build(...services: readonly string[]) {
  mkdirSync('build', { recursive: true });
  const folder = mkdtempSync('build/forms-');
  try {
    writeFileSync(`${folder}/forms.proto`, HEAD + services.join('') + MESSAGES);
    return describeWith(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const set = build(service('Carried', carried));
const operations = loadOperations(set);
const CARRIED_SERVICE = `${PACKAGE}.Carried`;
const routes = [...operations.byPath.values()]
  .filter(({ path }) => path.startsWith(`/${CARRIED_SERVICE}/`))
  .flatMap((operation) => operation.routes.map((route) => ({ ...route, operation })))
  .toSorted(compareAsEnvoy);

/** Prints which of the patterns, one a line, is the first that matches. */
const FIRST_MATCH = `
local subject = arg[1]
for pattern in io.lines() do
  if subject:find(pattern) then print(pattern) return end
end`;

function firstInLua(method: string, path: string): string {
  const ofMethod = routes.filter((route) => route.method === method);
  const input = ofMethod.map((route) => `${toLuaPattern(route)}\n`).join('');
  const args = ['-e', FIRST_MATCH.replace('arg[1]', `"${path}"`)];
  const { stdout, status } = spawnSync(findProgram(['luajit']) ?? '', args, { input, encoding: 'utf8' });
  if (status !== 0) throw new Error(stdout);
  return stdout.trim();
}

test('HTTP rules - what is carried reads Envoy, the server and json.lua alike, with slashes at the end', async (t) => {
  const send = await startTranscoder(t, set, operations, CARRIED_SERVICE);
  for (const [index, rule] of carried.entries()) {
    for (const [request, message] of Object.entries(CARRIED[rule] ?? {})) {
      const [, method = '', target = '', body] = /^(\S+) (\S+)(?: (.*))?$/.exec(request) ?? [];
      const [path = ''] = target.split('?');
      const route = routes.find((one) => one.method === method && one.pattern.test(path));
      const inLua = firstInLua(method, path);
      const sent = await send(method, target, body);
      if (message === undefined) {
        t.like(sent, { status: 404 }, request);
        t.deepEqual([route, inLua], [undefined, ''], request);
        continue;
      }
      const { path: called, message: arrived } = sent as { path: string; message: JsonObject };
      t.is(called, `/${CARRIED_SERVICE}/Rule${index}`, request);
      t.deepEqual(arrived, message, request);
      t.is(route?.operation.path, called, request);
      t.is(inLua, route === undefined ? '' : toLuaPattern(route), request);
      for (const [name, value] of Object.entries(route?.pattern.exec(path)?.groups ?? {})) {
        t.is(value, String(arrived[name]), request);
      }
    }
  }
});

test('HTTP rules - what nothing carries ends the start, by its method, its line and a way out', (t) => {
  const registry = createFileRegistry(build(service('Refused', refused)));
  for (const [index, method] of (registry.getService(`${PACKAGE}.Refused`)?.methods ?? []).entries()) {
    const rule = refused[index] ?? '';
    const line = HEAD.split('\n').length + 1 + index;
    const { message } = t.throws(() => toOperation(method, registry), undefined, rule) as Error;
    t.true(message.startsWith(`forms.proto:${line}: ${PACKAGE}.Refused.Rule${index}: `), message);
    t.true(message.includes(REFUSED[rule] ?? '?'), message);
  }
});

test('HTTP rules - two methods at one path end the start', (t) => {
  const twice = build(service('Twice', ['get: "/twice/{id}"', 'get: "/twice/{name}"']));
  t.throws(() => loadOperations(twice), { message: /Rule0 and .*Rule1 are both at GET \/twice\/\{\} on REST/ });
});

test('Times in a query - the transcoder reads what is accepted, and a 400 names the field of any other', async (t) => {
  const send = await startTranscoder(t, set, operations, CARRIED_SERVICE);
  const route = routes.find(({ pattern }) => pattern.test('/plain/7'));
  for (const [problem, ...times] of [
    [undefined, '2024-02-29T23:59:59.123456789-23:59', '0001-01-01T01:00:00+01:00', '9999-12-31T22:59:59.9-01:00'],
    [
      'is no RFC 3339 timestamp',
      ...['2026-02-30', '2100-02-29', '2026-04-31', '2026-13-01', '2026-01-00'].map((day) => `${day}T00:00:00Z`),
      ...['0000-12-31T23:59:59-01:00', '2026-01-01T24:00:00Z', '2026-01-01T00:00:60Z'],
      ...['2026-01-01T00:00:00+24:00', '2026-01-01T00:00:00+00:60'],
      '2026-01-01t00:00:00z', // of RFC 3339, but the transcoder takes none in a query
    ],
    ['is out of range', '0001-01-01T00:59:59+01:00', '9999-12-31T23:00:00-01:00'],
  ] as const) {
    for (const [time, value] of times.flatMap((one) => [one, encodeURIComponent(one)].map((value) => [one, value]))) {
      const path = `/plain/7?time=${value}`;
      const check = () => route && checkParameters(path, route.operation);
      const sent = await send('GET', path);
      if (problem !== undefined) t.throws(check, { message: `time: "${time}" ${problem}` });
      else {
        t.notThrows(check, path);
        t.true('message' in sent, path);
      }
    }
  }
});

test('Two fields of a oneof - are a 400 in our words, as only the transcoder finds them', async (t) => {
  const send = await startTranscoder(t, set, operations, CARRIED_SERVICE);
  t.like(await send('PATCH', '/body/7', '{"left":"a"}'), { message: { inner: { left: 'a' } } });
  t.like(await send('PATCH', '/body/7', '{"left":"a","right":"b"}'), { status: 400 });
  const request = { method: 'PATCH', path: '/body/7', status: 400, contentType: 'application/json' };
  const refused = edgeService(operations.byPath.values()).refuse(RefuseRequest.fromPartial(request), {
    protocol: { name: 'REST' },
  });
  const message = 'a value in the path, the query or the body is not what this operation reads';
  await t.throwsAsync(refused, { message, code: 'INVALID_ARGUMENT' });
});
