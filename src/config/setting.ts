/**
 * A setting is an environment variable. Its meaning, default and parser are declared once. A bad value ends the start
 * with one line. A secret may be in a file, whose path is in the variable `<NAME>_FILE`.
 */
import { readFileSync } from 'node:fs';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Setting<T> {
  /** What it means, in Markdown, for docs/settings.md. */
  readonly about: string;
  /** The default, as text to parse; undefined: no default. */
  readonly fallback: string | undefined;
  /** The default, in words. */
  readonly fallbackInWords?: string;
  /** No message shows the value, and `<NAME>_FILE` may name a file that contains it. */
  readonly isSecret?: true;
  /** Returns the value, or what the text should have been. */
  parse(text: string): T | Expected;
}

/** What the text of a setting must do: "be a port from 1 to 65535". */
export class Expected {
  readonly what: string;
  constructor(what: string) {
    this.what = what;
  }
}

/** A bad setting. The message is one line for the operator. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** A setting with a default. */
export function setting<T>(declared: Setting<T> & { readonly fallback: string }): Setting<T> {
  return declared;
}

/** A setting that is undefined unless it is set. */
export function optional<T>(
  declared: Omit<Setting<T>, 'fallback'> & { readonly fallbackInWords: string },
): Setting<T | undefined> {
  return { ...declared, fallback: undefined };
}

/** Returns the value of the setting called `name`. An empty variable counts as unset. Throws ConfigError. */
export function readSetting<T>(env: Environment, name: string, { fallback, isSecret, parse }: Setting<T>): T {
  const [source, text] = isSecret ? readSecret(env, name) : [name, env[name] || undefined];
  const used = text ?? fallback;
  if (used === undefined) return undefined as T; // as `optional` declares it
  const value = parse(used);
  if (!(value instanceof Expected)) return value;
  throw new ConfigError(`${source} must ${value.what}${isSecret ? '' : `, not ${JSON.stringify(used)}`}`);
}

/** A secret and its source. A line break at the end of the file, which editors add, is not part of it. */
function readSecret(env: Environment, name: string): [source: string, text: string | undefined] {
  const fileSetting = `${name}_FILE`;
  const file = env[fileSetting];
  if (!file) return [name, env[name] || undefined];
  if (env[name]) throw new ConfigError(`${name} and ${fileSetting} are both set: unset one of them`);
  try {
    return [`the content of ${fileSetting}`, readFileSync(file, 'utf8').replace(/\r?\n$/, '')];
  } catch (error) {
    throw new ConfigError(`${fileSetting} can't be read: ${(error as Error).message}`);
  }
}
