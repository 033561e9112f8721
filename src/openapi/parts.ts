/**
 * The parts of the description that are written by hand: document.yaml, and the pages of docs/callers. A value that is
 * known elsewhere, such as a default of the settings, is filled in at `{{name}}`.
 */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { readConfig } from '../config/config.ts';
import { IDEMPOTENCY_KEY } from '../config/constants.ts';
import { ETAG } from './examples.ts';
import type { JsonObject } from './json.ts';

interface Base extends JsonObject {
  readonly components: Readonly<Record<'schemas' | 'parameters' | 'headers', Readonly<Record<string, JsonObject>>>>;
}

const { limits, idempotencyMs, eventsDays } = readConfig({});
const PLANS = Object.entries(limits.plans).map(([plan, { perMinute, perDay }]) => {
  return { plan, perMinute: formatCount(perMinute), perDay: formatCount(perDay) };
});

const VALUES = {
  etag: ETAG,
  idempotencyKey: IDEMPOTENCY_KEY.source,
  idempotencyHours: formatCount(idempotencyMs / 3_600_000),
  eventsDays: formatCount(eventsDays),
  eventStreams: formatCount(limits.maxFeeds),
  addressPerMinute: formatCount(limits.addressPerMinute),
  banRefusals: formatCount(limits.ban.refusals),
  banWindowSeconds: formatCount(limits.ban.windowMs / 1_000),
  banMinutes: formatCount(limits.ban.durationMs / 60_000),
  plans: [
    '| Plan | Requests a minute | Requests a day |',
    '|---|---|---|',
    ...PLANS.map(({ plan, perMinute, perDay }) => `| ${plan} | ${perMinute} | ${perDay} |`),
    '| enterprise | as agreed | as agreed |',
  ].join('\n'),
  plansPhrase: [
    ...PLANS.map(({ plan, perMinute, perDay }) => `${plan} ${perMinute} a minute and ${perDay} a day`),
    'enterprise as agreed',
  ].join('; '),
};

/** The document without its operations and pages. */
export const BASE: Base = parse(readPart('document.yaml'), (_, value) => {
  return typeof value === 'string' ? fillIn(value, VALUES) : value;
});

/** A reference to a header or parameter in document.yaml. */
export function refTo(kind: 'parameters' | 'headers', name: string): JsonObject {
  if (BASE.components[kind][name] === undefined) throw new Error(`document.yaml has no ${name} in its ${kind}`);
  return { $ref: `#/components/${kind}/${name}` };
}

const ALWAYS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'X-Request-Id'];

/** The headers of every response, and the named ones. */
export function headers(...names: readonly string[]): JsonObject {
  return Object.fromEntries([...ALWAYS, ...names].map((name) => [name, refTo('headers', name)]));
}

/** The same, but those of every response are optional: Envoy has none when the server, which counts, is unavailable. */
export function headersIfKnown(...names: readonly string[]): JsonObject {
  const known = ALWAYS.map((name) => [name, { ...BASE.components.headers[name], required: undefined }]);
  return { ...headers(...names), ...Object.fromEntries(known) };
}

/** A page as a tag without operations, which docs pages show as text. `x-traitTag` marks it for Redoc and others. */
export function readPage(name: string, errors: string): JsonObject {
  const [, title = '', text = ''] = /^# (.+?)\n\n(.+)\n$/s.exec(readPart(`../../docs/callers/${name}.md`)) ?? [];
  if (text === '') throw new Error(`the page ${name}.md has no title or no text`);
  return { name: title, description: fillIn(text, { ...VALUES, errors }), 'x-traitTag': true };
}

function readPart(file: string): string {
  return readFileSync(new URL(file, import.meta.url), 'utf8');
}

function fillIn(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{\{(\w+)\}\}/g, (place, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`there is no value for ${place}`);
    return value;
  });
}

/** `1,000`. */
function formatCount(value: number): string {
  return value.toLocaleString('en-US');
}
