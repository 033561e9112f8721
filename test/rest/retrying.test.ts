/**
 * What makes a request safe to send again, through Envoy, by the table of every operation: entity tags, conditions and
 * idempotency keys. How lists of tags are parsed: test/rpc/operations.test.ts.
 */
import type { ExecutionContext } from 'ava';
import { GrpcCaller } from '../support/calls/grpc-caller.ts';
import type { RestClient, RestResponse } from '../support/calls/rest-client.ts';
import { http1, http2 } from '../support/calls/wire.ts';
import { isError, isInvalid } from '../support/contract/errors.ts';
import {
  fill,
  MAKERS,
  overGrpc,
  requestsTo,
  requestTo,
  sibling,
  type TestRequest,
} from '../support/contract/resources.ts';
import { etagOf, isReplayOf, newKey, readIf, sendAs, sendIf, shown, tagAt } from '../support/contract/retries.ts';
import { stackTest } from '../support/service/shared-stack.ts';
import type { TestStack } from '../support/service/stack.ts';

const test = stackTest();

/** The path of the resource that a request is about: without a verb. */
const resourceOf = ({ operation, ids }: TestRequest) => fill(operation.resource, ids);

test('ETag - every response with one resource has a strong one, which is that of its GET; no other has', async (t) => {
  const { rest } = t.context;
  for (const request of await requestsTo(rest)) {
    const { operation, method, path, json, ids } = request;
    const response = await rest.send(method, path, { json });
    t.regex(etagOf(response), operation.isTagged ? /^"[\w-]{22}"$/ : /^none$/, `${method} ${path}`);
    const maker = MAKERS.find((one) => one.path === operation.path);
    const made = maker === undefined ? resourceOf(request) : fill(maker.location, { ...ids, ...response.body });
    const isOne = maker !== undefined || /\}(:\w+)?$/.test(operation.template); // a bulk is none
    const isRead = isOne && operation.isTagged && (maker !== undefined || sibling(operation, 'GET') !== undefined);
    if (isRead) t.is(etagOf(response), await tagAt(rest, made));
  }
  for (const { operation } of await requestsTo(rest, ({ condition }) => condition === 'if-none-match')) {
    const nowhere = operation.template.replaceAll(/\{\w+\}/g, '999999');
    if (operation.isTagged) t.is(etagOf(await rest.get(nowhere)), 'none');
  }
});

const reads = (rest: RestClient) =>
  requestsTo(rest, ({ condition, isTagged }) => condition === 'if-none-match' && isTagged);
/** Headers about a body, and those that differ from one request to the next. */
const VARYING = /^(connection|content-\w+|date|ratelimit|x-request-id|x-ratelimit-(remaining|reset))$/;
const lasting = ({ headers }: RestResponse) => [...headers].filter(([name]) => !VARYING.test(name));

test('If-None-Match - a 304 has the other headers of the 200: rate limits, deprecation, ETag', async (t) => {
  const { rest, publicAddress, key } = t.context;
  for (const { path } of await reads(rest)) {
    const full = await rest.get(path);
    const tag = etagOf(full);
    for (const [method, tags] of [
      ['GET', tag],
      ['HEAD', tag],
      ['GET', `"x", W/${tag}`],
      ['GET', '*'],
    ] as const) {
      const response = await readIf(rest, path, tags, method);
      t.like(response, { status: 304, text: '' }, `${method} ${path}`);
      t.deepEqual(lasting(response), lasting(full));
      t.true(response.headers.has('x-ratelimit-remaining') && !response.headers.has('content-length'));
    }
    const headers = { authorization: `Bearer ${key}`, 'if-none-match': tag };
    t.like(await http2(publicAddress, { method: 'GET', path, headers }), { status: 304, text: '' });
  }
});

/** Every operation that supports If-Match, verbs too, each on its own resource. */
const writes = (rest: RestClient) => requestsTo(rest, ({ condition }) => condition === 'if-match');

test('Conditions - a malformed or empty one is a 400 INVALID_ARGUMENT that names it', async (t) => {
  const { rest } = t.context;
  for (const list of ['', '*, "x"', '\u00e9']) {
    for (const { path } of await reads(rest)) isInvalid(t, await readIf(rest, path, list), 'If-None-Match');
    for (const write of await writes(rest)) {
      isInvalid(t, await sendIf(rest, write, list), 'If-Match');
      t.is((await rest.get(resourceOf(write))).status, 200, list);
    }
  }
});

test('Conditions and Idempotency-Key - operations that do not take one ignore it', async (t) => {
  const { rest } = t.context;
  for (const { operation, method, path, json } of await requestsTo(rest)) {
    const { condition, takesIdempotencyKey } = operation;
    const all = Object.entries({ 'if-match': '"x"', 'if-none-match': '*', 'idempotency-key': 'a b' });
    const taken = [condition, takesIdempotencyKey ? 'idempotency-key' : undefined];
    const headers = Object.fromEntries(all.filter(([name]) => !taken.includes(name)));
    t.is((await rest.send(method, path, { json, headers })).status, operation.response.status, `${method} ${path}`);
  }
});

test('If-Match - without the current tag is a 412 PRECONDITION_FAILED, and nothing changes', async (t) => {
  const { rest } = t.context;
  for (const write of await writes(rest)) {
    const path = resourceOf(write);
    const { body, headers } = await rest.get(path);
    const tag = headers.get('etag') ?? 'none';
    const why = `what is stored has the ETag ${tag} now, which If-Match does not name`;
    const message = `${why}: read it again before you change it`;
    for (const list of ['"x"', `W/${tag}`]) {
      isError(t, await sendIf(rest, write, list), 412, 'PRECONDITION_FAILED', message);
      t.deepEqual((await rest.get(path)).body, body);
    }
    const response = await sendIf(rest, write, `"x", ${tag}`);
    t.is(response.status, write.operation.response.status, `${write.method} ${write.path}`);
    t.is((await rest.get(path)).status, write.method === 'DELETE' ? 404 : 200);
  }
});

test('If-Match - * matches any existing resource; what does not exist is a 404, whatever the tag', async (t) => {
  const { rest } = t.context;
  for (const write of await writes(rest)) {
    const { template, idName = '' } = write.operation;
    t.true((await sendIf(rest, write, '*')).status < 300, write.path);
    const nowhere = { ...write, path: fill(template, { ...write.ids, [idName]: '999999' }) };
    const { status, body } = await rest.send(nowhere.method, nowhere.path, { json: nowhere.json });
    t.is(status, 404);
    for (const list of ['*', '"x"']) isError(t, await sendIf(rest, nowhere, list), 404, body.code, body.message);
  }
});

test('Idempotency-Key - a replay is the original response, also after a change or deletion', async (t) => {
  const { rest } = t.context;
  for (const maker of MAKERS) {
    const request = await requestTo(rest, maker);
    const key = newKey();
    const first = await sendAs(rest, key, request);
    const location = fill(maker.location, { ...request.ids, ...first.body });
    for (const method of ['PATCH', 'DELETE']) {
      const change = sibling({ resource: maker.location }, method);
      if (change === undefined) continue;
      const { json } = await requestTo(rest, change);
      t.true((await rest.send(method, location, { json })).status < 300);
      isReplayOf(t, first, await sendAs(rest, key, request), request.path);
      if (method === 'DELETE') t.is((await rest.get(location)).status, 404, 'it is not made again');
    }
  }
});

/** A request with another body, or to another resource. */
async function another(t: ExecutionContext<TestStack>, { operation, json, ids }: TestRequest): Promise<TestRequest> {
  const { rest } = t.context;
  const maker = MAKERS.find(({ path }) => path === operation.path);
  const patch = maker && sibling({ resource: maker.location }, 'PATCH');
  const part = patch && (await requestTo(rest, patch)).json;
  const next = await requestTo(rest, operation);
  const other = operation.resource === '' ? { ...next, json: { ...next.json, ...part } } : next;
  t.notDeepEqual([other.ids, other.json], [ids, json], 'RESOURCES has a part, or bodies that differ');
  return other;
}

test('Idempotency-Key - another request with it is 409 IDEMPOTENCY_KEY_REUSED, an invalid one a 400', async (t) => {
  const { rest } = t.context;
  for (const request of await requestsTo(rest, ({ takesIdempotencyKey }) => takesIdempotencyKey)) {
    const key = newKey();
    const first = await sendAs(rest, key, request);
    isError(t, await sendAs(rest, key, await another(t, request)), 409, 'IDEMPOTENCY_KEY_REUSED', /new key/);
    const headers = { 'idempotency-key': key, 'content-type': 'application/json' };
    isError(t, await rest.send('POST', request.path, { raw: '{', headers }), 400, 'MALFORMED_BODY');
    isReplayOf(t, first, await sendAs(rest, key, request));
  }
});

test('Idempotency-Key - is per account and operation', async (t) => {
  const { rest, operator } = t.context;
  const { id: account } = await operator.account({ perMinute: 1_000, perDay: 1_000 });
  const newCaller = async () => rest.withKey((await operator.key(account)).key);
  const [one, same] = [await newCaller(), await newCaller()];
  const key = newKey();
  for (const request of await requestsTo(rest, ({ response, resource }) => response.status === 201 && !resource)) {
    const mine = await sendAs(rest, key, request);
    t.like(shown(mine), { status: 201, isReplay: null }, 'another operation');
    const theirs = await sendAs(one, key, request);
    if (theirs.status === 201) t.not(theirs.body.id, mine.body.id, 'another account');
    t.is(theirs.headers.get('idempotency-replayed'), null);
    if (theirs.status === 201) isReplayOf(t, theirs, await sendAs(same, key, request), 'another key of the account');
  }
});

test('Idempotency-Key - is 1 to 255 visible ASCII characters without a comma, else a 400 with its name', async (t) => {
  const { rest, publicAddress, key } = t.context;
  const [maker] = MAKERS.filter(({ resource }) => resource === '');
  if (maker === undefined) return t.fail('nothing can be created');
  const { path, json } = await requestTo(rest, maker);
  const body = JSON.stringify(json);
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
  const malformed = ['', 'a b', 'a,b', ',', 'x'.repeat(256), 'x'.repeat(2_000), 'caf\u00e9'].map((one) => [one]);
  for (const sent of [...malformed, ['a', 'b'], ['a', 'a'], ['\u00e9', 'a']]) {
    const lines = sent.map((one) => `Idempotency-Key: ${one}\r\n`).join('');
    const whole = `${head}Content-Length: ${Buffer.byteLength(body)}\r\n${lines}\r\n${body}`;
    isInvalid(t, await http1(publicAddress, Buffer.from(whole, 'latin1')), 'Idempotency-Key');
  }
  const visible = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index));
  const allowed = visible.filter((character) => character !== ',').join('');
  for (const one of [...allowed, allowed, 'x'.repeat(255)]) {
    t.is((await sendAs(rest, one, await requestTo(rest, maker))).status, 201, one);
  }
});

const exchange = (caller: GrpcCaller, { operation, ids, json }: TestRequest, metadata: Record<string, string>) =>
  caller.exchange(overGrpc(operation, ids, json), undefined, { metadata });

test('The same request - REST and gRPC share the keys, on the public port and on the private one', async (t) => {
  const { rest, key, grpc, grpcAddress } = t.context;
  const direct = new GrpcCaller(grpcAddress, key);
  for (const caller of [grpc, direct]) {
    for (const maker of MAKERS) {
      const [restFirst, grpcFirst] = [newKey(), newKey()];
      const request = await requestTo(rest, maker);
      const placed = await sendAs(rest, restFirst, request);
      const replayed = await exchange(caller, request, { 'idempotency-key': restFirst });
      t.is(String(replayed.message.id), String(placed.body.id));
      t.deepEqual(replayed.headers.get('idempotency-replayed'), ['true']);
      t.deepEqual(replayed.headers.get('etag'), [etagOf(placed)]);

      const other = await requestTo(rest, maker);
      const { message } = await exchange(caller, other, { 'idempotency-key': grpcFirst });
      const again = await sendAs(rest, grpcFirst, other);
      t.is(String(again.body.id), String(message.id));
      t.like(shown(again), {
        status: 201,
        isReplay: 'true',
        location: fill(maker.location, { ...other.ids, ...again.body }),
      });
    }
  }
  direct.close();
});
