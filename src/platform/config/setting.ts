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
  readonly fallbackInWords?: string;
  /** No message shows the value, and `<NAME>_FILE` may name a file that contains it. */
  readonly isSecret?: true;
  readonly parse: Parser<T>;
}

/** What the text of a setting must do: "be a port from 1 to 65535". */
export class Expected {
  readonly what: string;
  constructor(what: string) {
    this.what = what;
  }
}

/** An error whose message says in one line all that the operator needs. */
export class ExpectedError extends Error {}

/** A bad setting, or something else that the operator has to change. */
export class ConfigError extends ExpectedError {}

/** What fails now may succeed later, without a change: the database is unavailable, or the disk is full. */
export class TemporaryFailure extends ExpectedError {}

export type Parser<T> = (text: string) => T | Expected;

export function setting<T>(parse: Parser<T>, fallback: string, about: string): Setting<T> {
  return { parse, fallback, about };
}

/** A setting that is undefined unless it is set. `unset` says in words what that means. */
export function optional<T>(parse: Parser<T>, unset: string, about: string): Setting<T | undefined> {
  return { parse, fallback: undefined, fallbackInWords: unset, about };
}

export function secret<T>(parse: Parser<T>, unset: string, about: string): Setting<T | undefined> {
  return { ...optional(parse, unset, about), isSecret: true };
}

type Settings = Readonly<Record<string, Setting<unknown>>>;
type CamelCase<Name> = Name extends `${infer Word}_${infer Others}`
  ? `${Lowercase<Word>}${Capitalize<CamelCase<Others>>}`
  : Lowercase<Name & string>;
type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** The values of settings, by their names in camel case. */
export type ValuesOf<S extends Settings> = { readonly [N in keyof S as CamelCase<N>]: ValueOf<S[N]> };

/** Reads the values of settings. An empty variable counts as unset. Throws ConfigError for the first bad one. */
export function readSettings<S extends Settings>(env: Environment, settings: S): ValuesOf<S> {
  const entries = Object.entries(settings).map(([name, one]) => [toCamelCase(name), readSetting(env, name, one)]);
  return Object.fromEntries(entries) as ValuesOf<S>;
}

const toCamelCase = (name: string) => name.toLowerCase().replace(/_(.)/g, (_, letter) => letter.toUpperCase());

function readSetting(env: Environment, name: string, { fallback, isSecret, parse }: Setting<unknown>): unknown {
  const [source, text] = isSecret ? readSecret(env, name) : [name, env[name] || undefined];
  const used = text ?? fallback;
  if (used === undefined) return undefined;
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
