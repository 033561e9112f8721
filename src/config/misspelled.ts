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
  const unknown = Object.keys(env).filter((name) => env[name] && name.length >= MIN_LENGTH && !NAMES.includes(name));
  return unknown.flatMap((name) => {
    const meant = NAMES.find((setting) => setting.length >= MIN_LENGTH && isTypo(name, setting));
    if (meant === undefined) return [];
    return [`the environment has ${name}, which is no setting: did you mean ${meant}?`];
  });
}

/** Whether one character is missing, extra or wrong, or two neighbors are swapped. */
function isTypo(text: string, other: string): boolean {
  const shorter = Math.min(text.length, other.length);
  let start = 0;
  while (start < shorter && text[start] === other[start]) start += 1;
  let end = 0;
  while (end < shorter - start && text.at(-1 - end) === other.at(-1 - end)) end += 1;
  const middle = text.slice(start, text.length - end);
  const otherMiddle = other.slice(start, other.length - end);
  if (middle.length < 2 && otherMiddle.length < 2) return true;
  return middle.length === 2 && otherMiddle === `${middle[1]}${middle[0]}`;
}
