/** What Envoy's access log contains for each kind of request. That it contains no key: test/secrets.test.ts. */
import { readFileSync } from 'node:fs';
import type { Metadata } from '@grpc/grpc-js';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { generateKey } from '../../src/platform/access/keys/format.ts';
import { openEvents } from '../support/calls/event-source.ts';
import type { RestRequest } from '../support/calls/rest-client.ts';
import { sharing } from '../support/service/sharing.ts';
import { startTestStack, type TestStack } from '../support/service/stack.ts';
import { withinOneMinute } from '../support/until.ts';

type Line = Readonly<Record<string, unknown>>;

/** `limited` is the key of an account with one request per minute. */
type Sending = TestStack & { readonly limited: string };
type Send = (stack: Sending) => Promise<unknown>;

const AGENT = 'shop/1.2 (lunch "menu")';
const OK = { code: null, grpc_status: 0 };
const DEMO = { account_id: 1, key_id: 1 };
const LIMITED = { account_id: 2, key_id: 2 };
const ANONYMOUS = { account_id: null, key_id: null };
const PAST = { status: 429, ...LIMITED, code: 'RATE_LIMITED', grpc_status: 8 };

const http = (method: string, path: string, type?: string, raw?: RestRequest['raw'], agent = AGENT): Send => {
  const headers = { ...(type === undefined ? {} : { 'content-type': type }), 'user-agent': agent };
  return async ({ rest }) =>
    (await rest.send(method, path, raw === undefined ? { headers } : { headers, raw })).headers.get('x-request-id');
};
const get = (path: string, agent?: string) => http('GET', path, undefined, undefined, agent);
const post = (path: string, raw: string) => http('POST', path, 'application/json', raw);
const withKey = (keyOf: (stack: Sending) => string | undefined, send: Send): Send => {
  return (stack) => send({ ...stack, rest: stack.rest.withKey(keyOf(stack)) });
};
const unknownKey = () => generateKey();
const limited = ({ limited: key }: Sending) => key;
const idOf = (metadata: Metadata) => metadata.get('x-request-id')[0];
const UNTIL_FLOODED: Send = async ({ rest }) => {
  for (;;) {
    const { status, headers } = await rest.withKey(undefined).get('/pets');
    if (status === 429) return headers.get('x-request-id');
  }
};
const KEY_IN_AGENT: Send = (stack) => get('/pets', `tool/1 ${stack.key} ${btoa(stack.key)} end`)(stack);
const follow = (isLeft: boolean): Send => {
  return async ({ rest, key }) => {
    const stream = await openEvents(`${rest.url}/events/stream?after=0`, key);
    await stream.take(1);
    if (isLeft) stream.close();
    return stream.response.headers.get('x-request-id');
  };
};
const FOLLOWED = { status: 200, ...DEMO, ...OK, path: '/events/stream' };

/** The requests, in their order, and what their lines have. */
const REQUESTS: readonly (readonly [name: string, Send, Partial<Line>])[] = [
  ['created', post('/categories', '{"name":"Cats"}'), { status: 201, ...DEMO, ...OK, user_agent: AGENT }],
  // Envoy has seen that the caller has left before the last one ends the server.
  ['stream, left', follow(true), { ...FOLLOWED, details: 'downstream_remote_disconnect' }],
  ['missing', get('/categories/99'), { status: 404, ...DEMO, code: 'CATEGORY_NOT_FOUND', grpc_status: 5 }],
  ['no route', get('/nowhere'), { status: 404, ...DEMO, code: 'ROUTE_NOT_FOUND', grpc_status: 12 }],
  [
    'no key, with a body',
    withKey(unknownKey, post('/pets', '{}')),
    { status: 401, ...ANONYMOUS, code: 'API_KEY_INVALID', grpc_status: 16, user_agent: AGENT },
  ],
  ['within the limit', withKey(limited, get('/pets')), { status: 200, ...LIMITED, ...OK }],
  ['past the limit', withKey(limited, get('/pets')), PAST],
  ['key in agent', KEY_IN_AGENT, { path: '(hidden)', user_agent: '(hidden)' }],
  ['odd agent', get('/pets', 'tool/1 \u00c2\u009b2J'), { path: '(hidden)', user_agent: '(hidden)' }],
  ['long agent', get('/pets', 'x y '.repeat(1_000)), { user_agent: 'x y '.repeat(32) }],
  ['grpc', async ({ grpc }) => idOf((await grpc.exchange(Pets.listPets, {})).headers), { status: 200, ...DEMO, ...OK }],
  [
    'grpc, no key',
    async ({ grpc }) => idOf((await grpc.withKey(undefined).failure(Pets.getPet, { petId: 99n })).metadata),
    { status: 200, ...ANONYMOUS, code: 'API_KEY_MISSING', grpc_status: 16 },
  ],
  ['flood, no key', UNTIL_FLOODED, { ...PAST, ...ANONYMOUS }],
  ['stream, drained', follow(false), { ...FOLLOWED, details: 'via_upstream' }],
  [
    'server gone',
    async (stack) => {
      await stack.stack.servers[0]?.stop(5_000);
      return get('/categories/1')(stack);
    },
    { status: 503, ...ANONYMOUS, code: 'UNAVAILABLE', grpc_status: 14, user_agent: AGENT },
  ],
];

const test = sharing(undefined, async (t) => {
  const service = await startTestStack(t, { ADDRESS_BURST: '20', ADDRESS_PER_SECOND: '1' });
  const stack = { ...service, limited: await service.operator.keyOf({ perMinute: 1, perDay: 1_000 }) };
  await withinOneMinute(10_000);
  const names = new Map<unknown, string>();
  for (const [name, send] of REQUESTS) names.set(await send(stack), name);
  await service.stack.stop();
  const text = readFileSync(`${service.config.dataDir}/logs/access.log`, 'utf8');
  const all: Line[] = JSON.parse(`[${text.trimEnd().replaceAll('\n', ',')}]`);
  const lines = new Map(all.map((line) => [names.get(line.request_id) ?? 'other', line]));
  return { lines, all };
});

for (const [name, , expected] of REQUESTS) {
  test(`Access log - ${name} - has account, key id, code, gRPC status and user agent`, (t) => {
    t.like(t.context.lines.get(name), expected);
  });
}

test('Access log - a stream of events has one line, at its end, with duration and bytes', (t) => {
  for (const name of ['stream, left', 'stream, drained']) {
    const line = t.context.lines.get(name);
    t.is(t.context.all.filter(({ request_id }) => request_id === line?.request_id).length, 1, name);
    t.true(Number(line?.duration_ms) > 0 && Number(line?.bytes_sent) > 0, name);
  }
});
