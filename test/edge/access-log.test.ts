/** What Envoy's access log contains for each kind of request, and what it never contains. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { EventServiceService as Events } from '../../gen/petstore/v1/events.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { generateKey } from '../../src/access/keys/format.ts';
import { openEvents } from '../support/event-source.ts';
import { bearer, insecure } from '../support/grpc.ts';
import { GrpcCaller } from '../support/grpc-caller.ts';
import { withinOneMinute } from '../support/limit-windows.ts';
import { connectOperator } from '../support/operator.ts';
import type { RestRequest } from '../support/rest-client.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

interface Line {
  readonly request_id?: string;
  readonly account_id: number | null;
  readonly key_id: number | null;
  readonly code: string | null;
  readonly grpc_status: number | null;
  readonly user_agent: string | null;
  readonly status: number;
  readonly path: string;
  readonly duration_ms: number;
  readonly bytes_sent: number;
  readonly details: string;
}

interface Session {
  /** The line of each request, by the name that the test gave it. */
  readonly lines: ReadonlyMap<string, Line>;
  readonly all: readonly Line[];
  readonly text: string;
  readonly limited: { readonly accountId: number; readonly keyId: number };
  readonly secrets: readonly string[];
}

const test = anyTest as TestFn<Session>;

const AGENT = 'shop/1.2 (lunch "menu")';
const OK = { code: null, grpc_status: 0 };
const DEMO = { account_id: 1, key_id: 1 };
const ANONYMOUS = { account_id: null, key_id: null };
const json = (raw: string): RestRequest => ({ raw, headers: { 'content-type': 'application/json' } });
const frame = (message: Uint8Array) => Buffer.concat([Buffer.of(0, 0, 0, 0, message.length), message]);
const web = (message: Uint8Array): RestRequest => ({
  raw: frame(message),
  headers: { 'content-type': 'application/grpc-web+proto' },
});
const PET_99 = Pets.getPet.requestSerialize({ petId: 99n });
const ALL_PETS = Pets.listPets.requestSerialize({ ids: [], pageToken: '' });

test.before(async (t) => {
  const service = await startTestStack();
  const { rest, key, config } = service;
  const operator = await connectOperator(service);
  const account = await operator.account({ perMinute: 1, perDay: 1_000 });
  const limited = await operator.key(account.id);
  operator.close();

  const ids = new Map<string, string>();
  const send = async (name: string, method: string, path: string, request: RestRequest = {}, caller = rest) => {
    const headers = { 'user-agent': AGENT, ...request.headers };
    const response = await caller.send(method, path, { ...request, headers });
    ids.set(name, response.headers.get('x-request-id') ?? 'none');
  };
  await send('created', 'POST', '/categories', json('{"name":"Cats"}'));
  await send('read', 'GET', '/categories/1');
  await send('missing', 'GET', '/categories/99');
  await send('in use', 'POST', '/pets', json('{"name":"Tom","categoryId":1}'));
  await send('conflict', 'DELETE', '/categories/1');
  await send('no JSON', 'POST', '/categories', json('{"name":'));
  await send('no route', 'GET', '/nowhere');
  await send('no key', 'GET', '/pets', {}, rest.withKey(undefined));
  await send('no key, with a body', 'POST', '/pets', json('{}'), rest.withKey(generateKey()));
  await withinOneMinute(10_000);
  await send('within the limit', 'GET', '/pets', {}, rest.withKey(limited.key));
  await send('past the limit', 'GET', '/pets', {}, rest.withKey(limited.key));
  await send('past the limit, with a body', 'POST', '/pets', json('{}'), rest.withKey(limited.key));
  await send('file', 'GET', '/docs');
  await send('healthz', 'GET', '/healthz');
  await send('key in agent', 'GET', '/pets', { headers: { 'user-agent': `tool/1 ${key} ${btoa(key)} end` } });
  await send('long agent', 'GET', '/pets', { headers: { 'user-agent': 'x y '.repeat(1_000) } });
  await send('odd agent', 'GET', '/pets', { headers: { 'user-agent': 'a\tb\xe9"}\\' } });
  await send('long path', 'GET', `/pets/${key}`, {});
  await send('web', 'POST', Pets.listPets.path, web(ALL_PETS));
  await send('web, missing', 'POST', Pets.getPet.path, web(PET_99));
  const connect = { 'content-type': 'application/proto', 'connect-protocol-version': '1' };
  for (const [name, method, raw] of [
    ['connect', Pets.listPets, ALL_PETS],
    ['connect, missing', Pets.getPet, PET_99],
  ] as const) {
    const headers = { ...connect, 'user-agent': AGENT, authorization: `Bearer ${key}` };
    const response = await fetch(`${rest.url}${method.path}`, { method: 'POST', headers, body: raw });
    ids.set(name, response.headers.get('x-request-id') ?? 'none');
  }
  await callByGrpc(service, ids);
  const left = await openEvents(`${rest.url}/events/stream?after=0`, key);
  await left.take(1);
  left.close();
  const drained = await openEvents(`${rest.url}/events/stream`, key);
  await drained.next();
  ids.set('stream, left', left.response.headers.get('x-request-id') ?? 'none');
  ids.set('stream, drained', drained.response.headers.get('x-request-id') ?? 'none');
  const grpc = new Client(service.publicAddress, insecure);
  const watch = grpc.makeServerStreamRequest(
    ...([
      Events.watchEvents.path,
      Events.watchEvents.requestSerialize,
      Events.watchEvents.responseDeserialize,
    ] as const),
    { after: undefined, types: [] },
    bearer(key),
  );
  watch.on('error', () => undefined).resume();
  const [metadata] = await once(watch, 'metadata');
  ids.set('grpc stream, drained', String(metadata.get('x-request-id')[0]));
  await service.stack.servers[0]?.stop(5_000);
  grpc.close();
  await send('server gone', 'GET', '/categories/1');
  service.stack.ended.catch(() => undefined);
  await service.stack.stop();

  const text = readFileSync(join(config.dataDir, 'logs/access.log'), 'utf8');
  const all: Line[] = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const byId = new Map(all.map((line) => [line.request_id ?? 'hidden', line]));
  const lines = new Map([...ids].flatMap(([name, id]) => (byId.has(id) ? [[name, byId.get(id) as Line]] : [])));
  const secrets = [key, limited.key];
  t.context = { lines, all, text, secrets, limited: { accountId: Number(account.id), keyId: Number(limited.id) } };
  await service.close();
});

async function callByGrpc({ publicAddress, key }: TestStack, ids: Map<string, string>): Promise<void> {
  const grpc = new GrpcCaller(publicAddress, key);
  const idOf = (metadata: { get(name: string): unknown[] }) => String(metadata.get('x-request-id')[0]);
  ids.set('grpc', idOf((await grpc.exchange(Pets.listPets, { ids: [], pageToken: '' })).headers));
  ids.set('grpc, missing', idOf((await grpc.failure(Pets.getPet, { petId: 99n })).metadata));
  const anonymous = grpc.withKey(undefined);
  ids.set('grpc, no key', idOf((await anonymous.failure(Pets.getPet, { petId: 99n })).metadata));
  anonymous.close();
  grpc.close();
}

const EXPECTED: Readonly<Record<string, Partial<Line>>> = {
  created: { status: 201, ...DEMO, ...OK, user_agent: AGENT },
  read: { status: 200, ...DEMO, ...OK, user_agent: AGENT },
  missing: { status: 404, ...DEMO, code: 'CATEGORY_NOT_FOUND', grpc_status: 5, user_agent: AGENT },
  conflict: { status: 409, ...DEMO, code: 'CATEGORY_IN_USE', grpc_status: 9 },
  'no JSON': { status: 400, ...DEMO, code: 'MALFORMED_BODY', grpc_status: 3, user_agent: AGENT },
  'no route': { status: 404, ...DEMO, code: 'ROUTE_NOT_FOUND', grpc_status: 12 },
  'no key': { status: 401, ...ANONYMOUS, code: 'API_KEY_MISSING', grpc_status: 16, user_agent: AGENT },
  'no key, with a body': { status: 401, ...ANONYMOUS, code: 'API_KEY_INVALID', grpc_status: 16, user_agent: AGENT },
  file: { status: 200, ...ANONYMOUS, ...OK },
  healthz: { status: 200, ...ANONYMOUS, ...OK },
  web: { status: 200, ...DEMO, ...OK, user_agent: AGENT },
  'web, missing': { status: 200, ...DEMO, code: 'PET_NOT_FOUND', grpc_status: 5 },
  connect: { status: 200, ...DEMO, ...OK, user_agent: AGENT },
  'connect, missing': { status: 404, ...DEMO, code: 'PET_NOT_FOUND', grpc_status: 5 },
  grpc: { status: 200, ...DEMO, ...OK },
  'grpc, missing': { status: 200, ...DEMO, code: 'PET_NOT_FOUND', grpc_status: 5 },
  'grpc, no key': { status: 200, ...ANONYMOUS, code: 'API_KEY_MISSING', grpc_status: 16 },
  'stream, left': { status: 200, ...DEMO, ...OK, path: '/events/stream' },
  'stream, drained': { status: 200, ...DEMO, ...OK, path: '/events/stream' },
  'grpc stream, drained': { status: 200, ...DEMO, code: null },
  'server gone': { status: 503, ...ANONYMOUS, code: 'UNAVAILABLE', grpc_status: 14, user_agent: AGENT },
};

for (const [name, expected] of Object.entries(EXPECTED)) {
  test(`Access log - ${name} - has account, key id, code, gRPC status and user agent`, (t) => {
    t.like(t.context.lines.get(name), expected);
  });
}

test('Access log - a stream of events has one line, at its end, with duration and bytes', (t) => {
  for (const name of ['stream, left', 'stream, drained', 'grpc stream, drained']) {
    const line = t.context.lines.get(name);
    t.is(line?.details, name === 'stream, left' ? 'downstream_remote_disconnect' : 'via_upstream');
    t.is(t.context.all.filter(({ request_id }) => request_id === line?.request_id).length, 1, name);
    t.true((line?.duration_ms ?? 0) > 0, name);
    t.true((line?.bytes_sent ?? 0) > 0, name);
  }
});

test('Access log - a 429 has account and key id, also when it is sent before the body', (t) => {
  const { lines, limited } = t.context;
  const [account_id, key_id] = [limited.accountId, limited.keyId];
  t.like(lines.get('within the limit'), { account_id, key_id, ...OK });
  for (const name of ['past the limit', 'past the limit, with a body']) {
    t.like(lines.get(name), { status: 429, account_id, key_id, code: 'RATE_LIMITED', grpc_status: 8 });
  }
});

test('Access log - a user agent is truncated and escaped, and keys in it are hidden', (t) => {
  const { lines } = t.context;
  t.is(lines.get('key in agent')?.user_agent, 'tool/1 (hidden) (hidden) end');
  t.is(lines.get('long agent')?.user_agent?.length, 128);
  t.regex(lines.get('odd agent')?.user_agent ?? '', /^a\tb.+"}\\$/);
});

test('Access log - a path that may contain a key is hidden; the line has request id, account and key id', (t) => {
  const hidden = t.context.all.filter(({ path }) => path === '(hidden)');
  t.deepEqual(hidden, [t.context.lines.get('long path')]);
  t.like(hidden[0], { status: 400, ...DEMO, code: 'INVALID_ARGUMENT', grpc_status: 3, user_agent: AGENT });
});

test('Access log - contains no key', (t) => {
  for (const secret of t.context.secrets) {
    t.false(t.context.text.includes(secret.slice(12)));
    t.false(t.context.text.includes(btoa(secret)));
  }
});
