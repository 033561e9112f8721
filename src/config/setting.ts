/**
 * A setting is an environment variable: what it means, its default and its check, declared once. A bad value ends the
 * start with one line. A secret may stand in a file instead, whose path is in the variable `<NAME>_FILE`.
 */
import { readFileSync } from 'node:fs';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Setting<T> {
  /** What it means, in Markdown, for docs/settings.md. */
  readonly about: string;
  /** What holds when it is unset, as it would be set; undefined: `parse` is not asked. */
  readonly fallback: string | undefined;
  /** What holds when it is unset, in words. */
  readonly fallbackInWords?: string;
  /** Its value is in no message, and `<NAME>_FILE` may name a file that holds it. */
  readonly isSecret?: true;
  /** The value, or what the text should have been. */
  parse(text: string): T | Expected;
}

/** What a text must do to be a setting's: "be a port from 1 to 65535". */
export class Expected {
  readonly what: string;
  constructor(what: string) {
    this.what = what;
  }
}

/** A setting that is not right, in one line for the operator. */
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

/** The value of a setting of its name. An empty variable is as good as none. Throws ConfigError. */
export function readSetting<T>(env: Environment, name: string, { fallback, isSecret, parse }: Setting<T>): T {
  const [source, text] = isSecret ? readSecret(env, name) : [name, env[name] || undefined];
  const used = text ?? fallback;
  if (used === undefined) return undefined as T; // as `optional` declares it
  const value = parse(used);
  if (!(value instanceof Expected)) return value;
  throw new ConfigError(`${source} must ${value.what}${isSecret ? '' : `, not ${JSON.stringify(used)}`}`);
}

/** A secret and where it came from. The line break at the end of a file, which editors add, is not part of it. */
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
