/**
 * The interface description: its examples are true, and a third party's client works with it. openapi-fetch calls the
 * service with the types of openapi-typescript, gen/openapi/types.ts: this file must compile under `--strict`.
 */
import { readFileSync } from 'node:fs';
import type { ExecutionContext } from 'ava';
import createClient from 'openapi-fetch';
import type { components, paths } from '../../gen/openapi/types.ts';
import type { RestClient } from '../support/calls/rest-client.ts';
import { PUBLIC, type PublicOperation } from '../support/contract/resources.ts';
import { stackTest } from '../support/service/shared-stack.ts';
import { startTestStack, type TestStack } from '../support/service/stack.ts';

const test = stackTest();

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly example?: unknown;
  readonly schema: { readonly examples?: readonly unknown[] };
}

const described = JSON.parse(readFileSync('gen/openapi/openapi.json', 'utf8'));

/**
 * Every operation, in an order in which the resources of each example exist: as the table of resources has them, and
 * the stock before the orders. Both sequences begin with an empty store: the examples use the first id of a new store.
 */
const ALL = PUBLIC.filter(({ service }) => service !== 'EventService');
const isStock = ({ service }: PublicOperation) => service === 'InventoryService';
const isOrder = ({ service }: PublicOperation) => service === 'OrderService';
const by = (method: string) => ALL.filter((operation) => operation.method === method);
const CREATE = [
  ...by('POST').filter((operation) => !isOrder(operation)),
  ...[...by('PUT'), ...by('GET')].filter(isStock),
  ...by('POST').filter(isOrder),
];
const THEN_CHANGE = ['GET', 'PUT', 'PATCH'].flatMap(by).filter((operation) => !isStock(operation));
const THEN_DELETE = by('DELETE').reverse();

async function follow(
  t: ExecutionContext<TestStack>,
  rest: RestClient,
  { method, template: path }: PublicOperation,
): Promise<void> {
  const name = `${method} ${path}`;
  const operation = described.paths[path]?.[method.toLowerCase()];
  if (operation === undefined) return t.fail(`${name} is not described`);
  const { parameters = [], requestBody, responses } = operation;
  const resolved: readonly Parameter[] = parameters.map((one: { readonly $ref?: string }) =>
    one.$ref === undefined ? one : described.components.parameters[one.$ref.replace(/^.*\//, '')],
  );
  const exampleOf = ({ example, schema }: Parameter) => example ?? schema.examples?.[0];
  /** The first example of each parameter that has one, as text. */
  const examples = (where: Parameter['in']) =>
    resolved
      .filter((parameter) => parameter.in === where && exampleOf(parameter) !== undefined)
      .map((parameter): [string, string] => [parameter.name, String(exampleOf(parameter))]);
  const filled = examples('path').reduce((text, [key, example]) => text.replace(`{${key}}`, example), path);
  const { 'If-None-Match': known, ...headers } = Object.fromEntries(examples('header'));
  const json = requestBody?.content?.['application/json'].example;
  const target = `${filled}?${new URLSearchParams(examples('query'))}`;
  const { status, text } = await rest.send(method, target, { json, headers });
  const documented = Object.keys(responses).find((code) => code.startsWith('2')) ?? '';
  t.is(documented, String(status), `${name}: ${text}`);
  const { example } = responses[documented]?.content?.['application/json'] ?? {};
  t.deepEqual(text === '' ? undefined : JSON.parse(text), example, name);
  if (known === undefined) return;
  const { status: again, headers: sent } = await rest.send(method, filled, { headers: { 'If-None-Match': known } });
  const etag = sent.get('etag');
  const wayOut = `git grep -lF '${known}' docs scripts | xargs sed -i 's/${known}/${etag}/', then npm run generate`;
  const isPet = name === 'GET /pets/{petId}';
  t.is(again, isPet ? 304 : 200, `${name}: the ETag of all examples is that of the example pet: ${wayOut}`);
}

test('Examples - an invalid request lacks what its body must have, or has a parameter too much', async (t) => {
  const { rest } = t.context;
  for (const { method, template: path } of ALL) {
    const { requestBody, responses } = described.paths[path]?.[method.toLowerCase()] ?? { responses: {} };
    const { value } = responses[400]?.content?.['application/json'].examples?.INVALID_ARGUMENT ?? {};
    const sent = `${path.replace(/\{\w+\}/, '1')}${requestBody?.required ? '' : '?colour=red'}`;
    const { body } = await rest.send(method, sent, requestBody && { json: {} });
    t.deepEqual(body, value, `${method} ${path}`);
  }
});

// Serial: the other tests run after it, when the store is no longer empty.
test.serial('Examples - each request works on a new store, and gets the documented response', async (t) => {
  for (const one of [...CREATE, ...THEN_CHANGE]) await follow(t, t.context.rest, one);
  const { rest } = await startTestStack(t);
  for (const one of [...CREATE, ...THEN_DELETE]) await follow(t, rest, one);
});

test('openapi-fetch - creates, reads a second page, is refused and reads events, with types', async (t) => {
  const { rest, key } = t.context;
  const client = createClient<paths>({ baseUrl: rest.url, headers: { authorization: `Bearer ${key}` } });
  const { data: category } = await client.POST('/categories', { body: { name: 'Cats' } });
  const created: components['schemas']['Category'] | undefined = category;
  await client.POST('/categories', { body: { name: 'Dogs' } });
  const { data: page, response } = await client.GET('/categories', { params: { query: { limit: 1 } } });
  const pageToken = /pageToken=([^&>]+)/.exec(response.headers.get('link') ?? '')?.[1] ?? '';
  const { data: second } = await client.GET('/categories', { params: { query: { limit: 1, pageToken } } });
  t.true((page?.[0]?.id ?? 0) < (second?.[0]?.id ?? 0));
  const { error } = await client.POST('/categories', { body: { name: '' } });
  t.is(error?.code, 'INVALID_ARGUMENT');
  const { data: events } = await client.GET('/events', { params: { query: { types: ['category.created'] } } });
  t.true(events?.some((event) => event.category?.name === created?.name));
});
