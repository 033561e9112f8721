/** Environment variables whose names look like misspelled settings. */
import type { Environment, Setting } from './setting.ts';
import { SETTINGS } from './settings.ts';

/** Shorter names are too close to other programs' variables. */
const MIN_LENGTH = 5;

const NAMES = Object.entries<Setting<unknown>>(SETTINGS).flatMap(([name, { isSecret }]) =>
  isSecret ? [name, `${name}_FILE`] : [name],
);

/** A line for each variable that is one typo away from a setting. The lines have no values. */
export function describeMisspelled(env: Environment): string[] {
  const isLong = (name: string) => name.length >= MIN_LENGTH;
  const byVariant = new Map(NAMES.filter(isLong).flatMap((name) => variants(name).map((variant) => [variant, name])));
  const unknown = Object.keys(env).filter((name) => env[name] && isLong(name) && !NAMES.includes(name));
  return unknown.flatMap((name) => {
    const variant = variants(name).find((one) => byVariant.has(one));
    if (variant === undefined) return [];
    return [`the environment has ${name}, which is no setting: did you mean ${byVariant.get(variant)}?`];
  });
}

/** The name, and the name without one of its characters. Two names that share one of these are one typo apart. */
function variants(name: string): string[] {
  return [name, ...Array.from(name, (_, index) => name.slice(0, index) + name.slice(index + 1))];
}
