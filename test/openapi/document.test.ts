import { readFileSync } from 'node:fs';
import test from 'ava';
import { parse } from 'yaml';
import { IDEMPOTENCY_KEY } from '../../src/config/constants.ts';
import { PUBLIC as ALL, type PublicOperation } from '../support/resources.ts';

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: string;
  readonly example?: unknown;
  readonly schema: { readonly examples?: readonly unknown[]; readonly default?: unknown };
}

interface OpenApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly deprecated?: boolean;
  readonly 'x-sunset'?: string;
  readonly 'x-stability'?: string;
  readonly 'x-try-it'?: boolean;
  readonly tags: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly responses: Readonly<Record<string, { readonly headers?: object }>>;
}

/** Without those of gRPC alone. */
const PUBLIC = ALL.filter(({ routes }) => routes.length > 0);

const text = readFileSync('gen/openapi/openapi.json', 'utf8');
const document = JSON.parse(text);
const operations = new Map<string, OpenApiOperation>(
  Object.entries(document.paths as Record<string, Record<string, OpenApiOperation>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
  ),
);

/** The operations with a member, and what it says. */
function marked(member: 'deprecated' | 'x-sunset' | 'x-try-it'): Record<string, unknown> {
  const having = [...operations].filter(([, operation]) => operation[member] !== undefined);
  return Object.fromEntries(having.map(([name, operation]) => [name, operation[member]]));
}

test('Document - it describes exactly the operations of the contract, each under its tag', (t) => {
  const described = [...operations].map(([name, { tags }]) => `${name}: ${tags.join()}`);
  const tagOf = ({ template }: PublicOperation) => (/^\/(pets|categories)/.test(template) ? 'Pets' : 'Store');
  const expected = PUBLIC.map((operation) => `${operation.method} ${operation.template}: ${tagOf(operation)}`);
  t.deepEqual(described.sort(), expected.sort());
});

test('Document - inventory and events are beta and PATCH experimental; nothing else carries a marker', (t) => {
  for (const [name, operation] of operations) {
    const marker = /\/(store\/inventory|events)/.test(name) ? 'beta' : /^PATCH/.test(name) ? 'experimental' : undefined;
    t.is(operation['x-stability'], marker, name);
  }
});

test('Document - GET /pets/{petId} alone is deprecated, and testing is off for GET /store/orders alone', (t) => {
  t.deepEqual(marked('deprecated'), { 'GET /pets/{petId}': true });
  t.deepEqual(marked('x-sunset'), { 'GET /pets/{petId}': '2027-12-31T23:59:59Z' });
  t.deepEqual(marked('x-try-it'), { 'GET /store/orders': false });
});

test('Document - every operation says what it is for, under an id of its own', (t) => {
  const ids = [...operations.values()].map(({ operationId }) => operationId);
  t.is(new Set(ids).size, operations.size);
  for (const { summary, description } of operations.values()) {
    t.regex(summary, /^[A-Z][a-z ]+$/);
    t.true(description.length > summary.length);
  }
});

test('Document - every create takes an idempotency key, and documents a replay and a reused key', (t) => {
  const creates = new Set(PUBLIC.filter((one) => one.takesIdempotencyKey).map(({ template }) => `POST ${template}`));
  for (const [name, { parameters = [], responses }] of operations) {
    const isCreate = creates.has(name);
    t.is(
      parameters.some(({ $ref }) => $ref === '#/components/parameters/Idempotency-Key'),
      isCreate,
      name,
    );
    t.is('Idempotency-Replayed' in (responses['201']?.headers ?? {}), isCreate, name);
    t.is(JSON.stringify(responses).includes('IDEMPOTENCY_KEY_REUSED'), isCreate, name);
  }
  const key = document.components.parameters['Idempotency-Key'];
  t.like(key, { in: 'header', required: undefined, schema: { type: 'string', pattern: IDEMPOTENCY_KEY.source } });
});

test('Document - every parameter has a value to try, and only one in a path one that fills in a form', (t) => {
  const own = [...operations.values()].flatMap(({ parameters = [] }) => parameters).filter(({ $ref }) => !$ref);
  const parameters: Parameter[] = [...own, ...Object.values<Parameter>(document.components.parameters)];
  t.true(parameters.length > 20);
  for (const { name, in: where, example, schema } of parameters) {
    t.is(example !== undefined, where === 'path', name);
    t.not(example ?? schema.examples?.[0] ?? schema.default, undefined, name);
  }
});

test('Document - the pages are tags without operations', (t) => {
  const used = new Set([...operations.values()].flatMap(({ tags }) => tags));
  const pages = document.tags.filter(({ name }: { name: string }) => !used.has(name));
  t.deepEqual(
    pages.map(({ name }: { name: string }) => name),
    [
      ...['Getting started', 'Requests and responses', 'Retrying', 'Paging', 'Following changes'],
      ...['Conditional requests', 'Errors', 'Limits', 'Versions'],
    ],
  );
  for (const page of pages) {
    t.true(page['x-traitTag']);
    t.notRegex(page.description, /\{\{|undefined/);
  }
});

test('Document - every error has the one schema, whose code is an open set, under a name of its own', (t) => {
  const { ErrorBody, Error: shadowing } = document.components.schemas;
  const { type, enum: codes } = ErrorBody.properties.code;
  t.deepEqual([type, codes, shadowing], ['string', undefined, undefined]);
  const own = [...operations.values()].flatMap(({ responses }) =>
    Object.entries(responses).flatMap(([status, response]) => (Number(status) >= 400 ? [response] : [])),
  );
  for (const response of [...own, ...Object.values<object>(document.components.responses)]) {
    if ('$ref' in response) continue;
    t.like(response, { content: { 'application/json': { schema: { $ref: '#/components/schemas/ErrorBody' } } } });
  }
});

test('Document - accounts and what Envoy asks are not public', (t) => {
  t.notRegex(text, /petstore\.(admin|edge)|CreateAccount|RefuseRequest|OPERATOR_KEY/);
});

test('Document - YAML and JSON say the same', (t) => {
  const yaml = readFileSync('gen/openapi/openapi.yaml', 'utf8');
  t.deepEqual(parse(yaml), document);
  t.deepEqual(parse(yaml, { version: '1.1' }), document); // as many tools still read it
});
