import { readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { PUBLIC, type PublicOperation } from '../../support/resources.ts';
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
 * Every operation, in an order in which the resources of each example exist: as the table of resources has them, and
 * the stock before the orders. Both sequences begin with an empty store: the examples use the first id of a new store.
 */
const named = (holds: (operation: PublicOperation) => boolean) =>
  PUBLIC.filter((operation) => operation.service !== 'EventService' && holds(operation)).map(
    ({ method, template }) => `${method} ${template}`,
  );
const isStock = ({ service }: PublicOperation) => service === 'InventoryService';
const CREATE = [
  ...named(({ method, service }) => method === 'POST' && service !== 'OrderService'),
  ...named((operation) => operation.method === 'PUT' && isStock(operation)),
  ...named((operation) => operation.method === 'GET' && isStock(operation)),
  ...named(({ method, service }) => method === 'POST' && service === 'OrderService'),
];
const THEN_CHANGE = ['GET', 'PUT', 'PATCH'].flatMap((verb) =>
  named((operation) => operation.method === verb && !isStock(operation)),
);
const THEN_DELETE = named(({ method }) => method === 'DELETE').reverse();

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
