import { readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import type { RestClient } from '../../support/rest-client.ts';
import { startTestStack } from '../../support/stack.ts';

interface Content {
  readonly content?: { readonly 'application/json': { readonly example: unknown } };
}

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly example?: unknown }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

const { paths }: { paths: Record<string, Record<string, Operation>> } = JSON.parse(
  readFileSync('gen/openapi/openapi.json', 'utf8'),
);

/**
 * Every operation, in an order in which each finds what its example names. Both begin with an empty store, because
 * the examples name the first id that a new store gives.
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
  const filled = parameters.reduce((text, { name, example }) => text.replace(`{${name}}`, String(example)), path);
  const json = requestBody?.content?.['application/json'].example;
  const { status, text } = await rest.send(method, filled, { json });
  const [[documented, response] = []] = Object.entries(responses).filter(([code]) => code.startsWith('2'));
  t.is(documented, String(status), `${name}: ${text}`);
  const expected = response?.content?.['application/json'].example;
  t.deepEqual(text === '' ? undefined : JSON.parse(text), expected, name);
}

test('Examples - every one works on a new store, and is answered as the description shows', async (t) => {
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  t.deepEqual([...CREATE, ...THEN_CHANGE, ...THEN_DELETE].toSorted(), described.toSorted());
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
