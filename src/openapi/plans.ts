/** The limits of the plans as the description states them: the defaults of the settings. */
import { readConfig } from '../config.ts';

const { plans } = readConfig({}).limits;
const LIMITS = Object.entries(plans).map(([plan, { perMinute, perDay }]) => {
  return { plan, perMinute: formatCount(perMinute), perDay: formatCount(perDay) };
});

/** A Markdown table with a row for each plan. */
export function plansTable(): string {
  const rows = LIMITS.map(({ plan, perMinute, perDay }) => `| ${plan} | ${perMinute} | ${perDay} |`);
  return [
    '| Plan | Requests a minute | Requests a day |',
    '|---|---|---|',
    ...rows,
    '| enterprise | as agreed | as agreed |',
  ].join('\n');
}

/** The same as a phrase: `free 60 a minute and 1,000 a day; …`. */
export function plansPhrase(): string {
  const phrases = LIMITS.map(({ plan, perMinute, perDay }) => `${plan} ${perMinute} a minute and ${perDay} a day`);
  return [...phrases, 'enterprise as agreed'].join('; ');
}

/** `1,000`. */
export function formatCount(value: number): string {
  return value.toLocaleString('en-US');
}
