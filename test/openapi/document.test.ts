/** The description, what breaks it, and the descriptor sets: what `npm run generate` makes. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import test from 'ava';
import { parse } from 'yaml';
import { findBreaks } from '../../scripts/openapi/breaks.ts';
import { readConfig } from '../../src/platform/config/config.ts';
import { IDEMPOTENCY_KEY } from '../../src/platform/config/constants.ts';
import { operations } from '../docs/docs-page.ts';
import { checkAgainstDescription, type SeenResponse } from '../support/contract/description.ts';
import { PUBLIC as ALL, type PublicOperation } from '../support/contract/resources.ts';

/** Without those of gRPC alone. */
const PUBLIC = ALL.filter(({ routes }) => routes.length > 0);

const text = readFileSync('gen/openapi/openapi.json', 'utf8');
const document = JSON.parse(text);
const nameOf = ({ method, path }: (typeof operations)[number]) => `${method.toUpperCase()} ${path}`;

test('Document - it describes exactly the operations of the contract, each under its tag', (t) => {
  const described = operations.map((one) => `${nameOf(one)}: ${one.operation.tags.join()}`);
  const tagOf = ({ template }: PublicOperation) => (/^\/(pets|categories)/.test(template) ? 'Pets' : 'Store');
  const expected = PUBLIC.map((operation) => `${operation.method} ${operation.template}: ${tagOf(operation)}`);
  t.deepEqual(described.sort(), expected.sort());
});

test('Document - inventory and events are beta and PATCH experimental; nothing else carries a marker', (t) => {
  for (const one of operations) {
    const [name, { operation }] = [nameOf(one), one];
    const marker = /\/(store\/inventory|events)/.test(name) ? 'beta' : /^PATCH/.test(name) ? 'experimental' : undefined;
    t.is(operation['x-stability'], marker, name);
    const isOld = name === 'GET /pets/{petId}';
    t.is(operation.deprecated, isOld ? true : undefined, name);
    t.is(operation['x-sunset'], isOld ? '2027-12-31T23:59:59Z' : undefined, name);
    t.is(operation['x-try-it'], name === 'GET /store/orders' ? false : undefined, name);
  }
});

test('Document - the pages have the default limits, and the parameter the format of an idempotency key', (t) => {
  const { limits, idempotencyMs, eventsDays, eventStreams, addressPerMinute } = readConfig({});
  const { ban, plans } = limits;
  const text = document.tags
    .map(({ description }: { description: string }) => description.replaceAll('\n', ' '))
    .join();
  for (const [plan, quota] of Object.entries(plans)) {
    const [perMinute, perDay] = [quota.perMinute, quota.perDay].map((count) => count.toLocaleString('en-US'));
    t.regex(text, new RegExp(`\\| ${plan} +\\| ${perMinute} +\\| ${perDay} +\\|`));
  }
  const banned = `${ban.refusals} refused requests within ${ban.windowMs / 1_000} seconds, is banned for`;
  for (const said of [
    `${banned} ${ban.durationMs / 60_000} minutes`,
    `their IP address, ${addressPerMinute} a minute`,
    `An account may have ${eventStreams} streams`,
    `the account follows the events on ${eventStreams} streams already`,
    `Events are kept for ${eventsDays} days`,
    `is kept for at least ${idempotencyMs / 3_600_000} hours`,
  ])
    t.true(text.includes(said), said);
  t.is(document.components.parameters['Idempotency-Key'].schema.pattern, IDEMPOTENCY_KEY.source);
});

test('Document - its YAML says the same to parsers of YAML 1.1 and 1.2', (t) => {
  const yaml = readFileSync('gen/openapi/openapi.yaml', 'utf8');
  for (const version of ['1.1', '1.2'] as const) t.deepEqual(parse(yaml, { version }), document, version);
  t.is(yaml.search(/[\u0085\u2028\u2029]/), -1, 'line breaks in YAML 1.1, which this parser takes for text');
});

test('Document - accounts and what Envoy asks are not public', (t) => {
  t.notRegex(text, /platform\.(admin|edge)|CreateAccount|RefuseRequest|OPERATOR_KEY/);
});

test('Descriptor sets - what the server reads and shows is the proto files as buf builds them', (t) => {
  const options = ['--as-file-descriptor-set', '--exclude-source-info', '--output', '-#format=binpb'];
  const built = execFileSync('node_modules/.bin/buf', ['build', ...options]);
  t.true(built.equals(readFileSync('gen/descriptors.binpb')), 'scripts/generate.ts changed gen/descriptors.binpb');
});

/** A change: a part of the description, by its path, and its new value. `-` is the next item of a list. */
type Change = readonly [path: string, value: unknown];
const GONE = undefined;

function breaksOf([path, value]: Change): string[] {
  const changed = JSON.parse(text);
  const steps = path.split(' > ');
  const name = steps.pop() ?? '';
  const part = steps.reduce((found, step) => found[step], changed);
  if (value === GONE && Array.isArray(part)) part.splice(Number(name), 1);
  else if (value === GONE) delete part[name];
  else part[name === '-' ? part.length : name] = value;
  return findBreaks(JSON.parse(text), changed);
}

const SCHEMAS = 'components > schemas';
const LIST = 'paths > /store/orders > get > parameters';
const POST = 'paths > /store/orders > post > requestBody';
const DESCRIPTION = `${SCHEMAS} > NewCategory > properties > description`;
const shop = { name: 'shop', in: 'query', schema: { type: 'string' } };
const at = 'GET /store/orders: query parameter';
const ofCategories = ['POST /categories', 'PUT /categories/{categoryId}'].map(
  (method) => `${method}: body.description`,
);

/** Changes, and all the breaks that each causes. Whoever only adds sees at once if that is taken for one. */
const BREAKS: readonly (readonly [...Change, ...breaks: string[]])[] = [
  // An operation that is gone, or not stable any more.
  ['paths > /pets > post', GONE, 'POST /pets: it is gone'],
  ['paths > /pets > get > x-stability', 'beta', 'GET /pets: it was stable and is beta'],
  // A parameter that is gone, new and required, or takes less.
  [`${LIST} > 0`, GONE, `${at} petId: it is gone`],
  [`${LIST} > -`, { ...shop, required: true }, `${at} shop: it is required`],
  [`${LIST} > 2 > schema > maximum`, 50, `${at} limit: maximum was 100 and is 50`],
  [`${LIST} > 2 > schema`, { type: 'string' }, `${at} limit: the type was integer int32 and is string`],
  // A body that is required, or whose fields are, or take less.
  [`${POST} > required`, true, 'POST /store/orders: body: it is required'],
  [POST, GONE, 'POST /store/orders: body: it is gone'],
  [
    `${SCHEMAS} > NewPet > required > -`,
    'status',
    ...['POST /pets', 'PUT /pets/{petId}'].map((method) => `${method}: body.status: it is required`),
  ],
  [DESCRIPTION, GONE, ...ofCategories.map((place) => `${place}: it is gone`)],
  [
    DESCRIPTION,
    { type: 'string', maxLength: 100, pattern: 'x' },
    ...ofCategories.flatMap((place) => [
      `${place}: maxLength was 2000 and is 100`,
      `${place}: pattern was not there and is x`,
    ]),
  ],
];

test('Breaks - of operations, parameters and bodies are found', (t) => {
  for (const [path, value, ...expected] of BREAKS) t.deepEqual(breaksOf([path, value]), expected, path);
});

const RESPONSES = 'paths > /pets/{petId} > get > responses';
const get = 'GET /pets/{petId}: ';

test('Breaks - a response whose status, field or header is gone or can be absent', (t) => {
  for (const [path, value, expected] of [
    ['paths > /pets > post > responses > 201', GONE, 'POST /pets: 201: it is gone'],
    [`${RESPONSES} > 200 > headers > Sunset`, GONE, `${get}200 header Sunset: it is gone`],
    [`${SCHEMAS} > Pet > properties > name`, GONE, `${get}200 body.name: it is gone`],
    [`${SCHEMAS} > Pet > required > 3`, GONE, `${get}200 body.status: it may be absent`],
    ['components > headers > Location > required', GONE, 'POST /pets: 201 header Location: it may be absent'],
    [`${SCHEMAS} > ErrorBody > properties > message`, GONE, `${get}404 body.message: it is gone`],
    [`${SCHEMAS} > PetStatus > enum > 2`, GONE, 'GET /pets: query parameter status: sold is not accepted any more'],
    [`${SCHEMAS} > PetStatus > enum > -`, 'lost', 'GET /pets: 200 body[].status: it may be lost now'],
  ] as const) {
    t.true(breaksOf([path, value]).includes(expected), expected);
  }
});

const RATE = {
  ...{ 'x-ratelimit-limit': '1000', 'x-ratelimit-remaining': '999', 'x-ratelimit-reset': '1798804800' },
  ...{ 'ratelimit-policy': '"minute";q=1000;w=60', ratelimit: '"minute";r=999;t=12' },
};
const COMMON = { ...RATE, 'x-request-id': 'abc', 'content-type': 'application/json' };
const PET = { id: 1, name: 'Tom', categoryId: 1, status: 'available' };

function seen(status: number, body: unknown, headers: Record<string, string> = {}): SeenResponse {
  const text = body === undefined ? '' : JSON.stringify(body);
  return { status, headers: new Headers({ ...COMMON, ...headers }), text };
}

function error(status: number, code: string): object {
  return { code, message: 'what is wrong', status };
}

function violation(request: string, response: SeenResponse): string | undefined {
  const [method = '', path = ''] = request.split(' ');
  try {
    checkAgainstDescription(method, path, response);
    return undefined;
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

test('Description check - an undocumented status, header, code, field or type is found', (t) => {
  const { categoryId: _, ...withoutCategory } = PET;
  for (const [expected, request, response] of [
    [/status is not documented/, 'DELETE /pets/1', seen(200, PET)],
    [/Retry-After is missing/, 'GET /pets', seen(503, error(503, 'UNAVAILABLE'))],
    [/the internal header x-petstore-code/, 'GET /healthz', seen(200, undefined, { 'x-petstore-code': 'X' })],
    [/ETag must match/, 'PUT /pets/1', seen(200, PET, { etag: 'W/"x"' })],
    [/Sunset is missing/, 'GET /pets/1', seen(200, PET, { deprecation: '@1', link: '<x>' })],
    [/the code ORDER_NOT_FOUND is not documented for 404/, 'PUT /pets/1', seen(404, error(404, 'ORDER_NOT_FOUND'))],
    [/the body says 409/, 'PUT /pets/1', seen(404, error(409, 'PET_NOT_FOUND'))],
    [/must NOT have additional/, 'PUT /pets/1', seen(200, { ...PET, colour: 'red' })],
    [/required property 'categoryId'/, 'PUT /pets/1', seen(200, withoutCategory)],
    [/there is a body/, 'HEAD /pets', seen(200, [])],
    [/no such method/, 'PUT /pets', seen(200, [])],
    [/content type/, 'GET /pets', seen(200, [], { 'content-type': 'text/plain' })],
    [/not JSON/, 'GET /nowhere', { ...seen(404, undefined), text: 'not found' }],
    [
      /^GET \/pets answered 418, not as .+\n- the status is.+ x-ratelimit-limit: 1000.+\{\}$/s,
      'GET /pets',
      seen(418, {}),
    ],
  ] as const) {
    t.regex(violation(request, response) ?? 'nothing', expected);
  }
});
