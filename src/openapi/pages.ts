/**
 * The pages of prose: tags without operations, which a docs page shows as text. Each is a Markdown file with values,
 * such as the table of errors, filled in at `{{name}}`.
 */
import { readFileSync } from 'node:fs';
import { readConfig } from '../config.ts';
import type { JsonObject } from './json.ts';
import { formatCount, plansTable } from './plans.ts';

/** A page as a tag. `x-traitTag` marks it for Redoc and other tools. */
export function readPage(file: string, values: Readonly<Record<string, string>>): JsonObject {
  const text = readFileSync(new URL(`pages/${file}.md`, import.meta.url), 'utf8');
  const [, title, body] = /^# (.+?)\n\n(.+)\n$/s.exec(text) ?? [];
  if (title === undefined || body === undefined) throw new Error(`the page ${file}.md has no title or no text`);
  const description = body.replace(/\{\{(\w+)\}\}/g, (place, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`there is no value for ${place} of ${file}.md`);
    return value;
  });
  return { name: title, description, 'x-traitTag': true };
}

/** The defaults of the settings that the pages state. */
export function settings(): Record<string, string> {
  const { limits, idempotencyMs } = readConfig({});
  const { addressPerMinute, ban } = limits;
  return {
    plans: plansTable(),
    addressPerMinute: formatCount(addressPerMinute),
    idempotencyHours: formatCount(idempotencyMs / 3_600_000),
    banRefusals: formatCount(ban.refusals),
    banWindowSeconds: formatCount(ban.windowMs / 1_000),
    banMinutes: formatCount(ban.durationMs / 60_000),
  };
}
