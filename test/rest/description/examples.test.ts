import { readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import type { RestClient } from '../../support/rest-client.ts';
import { startTestStack } from '../../support/stack.ts';

interface Content {
  readonly content?: { readonly 'application/json': { readonly example: unknown } };
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly example?: unknown;
  readonly schema: { readonly examples?: readonly unknown[] };
}

interface Operation {
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly parameters: Readonly<Record<string, Parameter>> };
}

const { paths, components }: Description = JSON.parse(readFileSync('gen/openapi/openapi.json', 'utf8'));

/**
 * Every operation, in an order in which the resources of each example exist. Both sequences begin with an empty store:
 * the examples use the first id of a new store.
 */
const CREATE = [
  'POST /categories',
  'POST /pets',
  'PUT /store/inventory/{petId}',
  'GET /store/inventory',
  'GET /store/inventory/{petId}',
  'POST /store/orders',
];
const THEN_CHANGE = [
  'GET /categories',
  'GET /categories/{categoryId}',
  'PUT /categories/{categoryId}',
  'PATCH /categories/{categoryId}',
  'GET /pets',
  'GET /pets/{petId}',
  'PUT /pets/{petId}',
  'PATCH /pets/{petId}',
  'GET /store/orders',
  'GET /store/orders/{orderId}',
  'PATCH /store/orders/{orderId}',
];
const THEN_DELETE = ['DELETE /store/orders/{orderId}', 'DELETE /pets/{petId}', 'DELETE /categories/{categoryId}'];

async function run(t: ExecutionContext, rest: RestClient, name: string): Promise<void> {
  const [method = '', path = ''] = name.split(' ');
  const operation = paths[path]?.[method.toLowerCase()];
  if (operation === undefined) return t.fail(`${name} is not described`);
  const { parameters = [], requestBody, responses } = operation;
  const { inPath, query, headers } = examplesOf(parameters);
  const filled = inPath.reduce((text, [name, example]) => text.replace(`{${name}}`, example), path);
  const { 'If-None-Match': known, ...others } = Object.fromEntries(headers);
  const json = requestBody?.content?.['application/json'].example;
  const { status, text } = await rest.send(method, `${filled}?${new URLSearchParams(query)}`, {
    json,
    headers: others,
  });
  const [[documented, response] = []] = Object.entries(responses).filter(([code]) => code.startsWith('2'));
  t.is(documented, String(status), `${name}: ${text}`);
  const expected = response?.content?.['application/json'].example;
  t.deepEqual(text === '' ? undefined : JSON.parse(text), expected, name);
  if (known === undefined) return;
  const again = await rest.send(method, filled, { headers: { 'If-None-Match': known } });
  t.is(again.status, name === 'GET /pets/{petId}' ? 304 : 200, `${name}: the entity tag is a pet's`);
}

/** The first example of each parameter that has one, as text. */
function examplesOf(parameters: NonNullable<Operation['parameters']>) {
  const named = parameters.map((parameter) => ('$ref' in parameter ? resolved(parameter.$ref) : parameter));
  const having = named.filter(({ example, schema }) => (example ?? schema.examples) !== undefined);
  const of = (where: Parameter['in']) =>
    having
      .filter((parameter) => parameter.in === where)
      .map(({ name, example, schema }): [string, string] => [name, String(example ?? schema.examples?.[0])]);
  return { inPath: of('path'), query: of('query'), headers: of('header') };
}

function resolved(ref: string): Parameter {
  const parameter = components.parameters[ref.replace('#/components/parameters/', '')];
  if (parameter === undefined) throw new Error(`${ref} is not described`);
  return parameter;
}

test('Examples - each request works on a new store, and gets the documented response', async (t) => {
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  // The feed has what the other requests did, each at its time: test/rest/events.
  const feed = ['GET /events', 'GET /events/stream'];
  t.deepEqual([...CREATE, ...THEN_CHANGE, ...THEN_DELETE, ...feed].toSorted(), described.toSorted());
  for (const sequence of [
    [...CREATE, ...THEN_CHANGE],
    [...CREATE, ...THEN_DELETE],
  ]) {
    const { rest, close } = await startTestStack();
    try {
      for (const name of sequence) await run(t, rest, name);
    } finally {
      await close();
    }
  }
});
