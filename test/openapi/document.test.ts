import { readFileSync } from 'node:fs';
import test from 'ava';
import { parse } from 'yaml';
import { readConfig } from '../../src/platform/config/config.ts';
import { IDEMPOTENCY_KEY } from '../../src/platform/config/constants.ts';
import { PUBLIC as ALL, type PublicOperation } from '../support/contract/resources.ts';

interface OpenApiOperation {
  readonly deprecated?: boolean;
  readonly 'x-sunset'?: string;
  readonly 'x-stability'?: string;
  readonly 'x-try-it'?: boolean;
  readonly tags: readonly string[];
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
    const isOld = name === 'GET /pets/{petId}';
    t.is(operation.deprecated, isOld ? true : undefined, name);
    t.is(operation['x-sunset'], isOld ? '2027-12-31T23:59:59Z' : undefined, name);
    t.is(operation['x-try-it'], name === 'GET /store/orders' ? false : undefined, name);
  }
});

test('Document - the pages have the default limits, and the parameter the format of an idempotency key', (t) => {
  const { limits, idempotencyMs, eventsDays } = readConfig({});
  const { ban, addressPerMinute, maxFeeds, plans } = limits;
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
    `An account may have ${maxFeeds} streams`,
    `the account follows the events on ${maxFeeds} streams already`,
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
