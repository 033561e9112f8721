/** What all commands have in common: the settings that they read, and `--help`. */
import { parseArgs } from 'node:util';
import { describeMisspelled } from '../config/misspelled.ts';
import type { Setting } from '../config/setting.ts';
import { SETTINGS } from '../config/settings.ts';
import { type Config, ConfigError, readConfig } from '../config.ts';

export interface Command {
  /** "npm run server". */
  readonly name: string;
  /** Its description. */
  readonly about: string;
  readonly settings: readonly (keyof typeof SETTINGS)[];
}

/** Reads the settings, and warns on stderr of variables that look like misspelled ones. Throws ConfigError. */
export function loadConfig(): Config {
  for (const line of describeMisspelled(process.env)) process.stderr.write(`petstore: ${line}\n`);
  return readConfig();
}

/** Throws ConfigError when the settings ask a standalone server or edge for several servers. */
export function checkSingleInstance({ instances }: Config, command: Command): void {
  if (instances === 1) return;
  const advice = "unset it and list the edge's servers in SERVERS, or use npm start";
  throw new ConfigError(`INSTANCES=${instances} is not for ${command.name}: ${advice}`);
}

/** Prints the help and returns true if the arguments request it. Throws ConfigError for any other argument. */
export function printHelp(command: Command): boolean {
  const wantsHelp = readArguments(command.name);
  if (wantsHelp) process.stdout.write(`${[...help(command)].join('\n')}\n`);
  return wantsHelp;
}

function readArguments(name: string): boolean {
  try {
    return parseArgs({ options: { help: { type: 'boolean', short: 'h' } } }).values.help === true;
  } catch {
    throw new ConfigError(`${name} takes no arguments but --help: everything else is a setting (docs/settings.md)`);
  }
}

function* help({ name, about, settings }: Command): Generator<string> {
  yield* [name, '', about, '', 'Settings, as environment variables (docs/settings.md has the others):', ''];
  for (const setting of settings) {
    const { about: meaning, fallback, fallbackInWords, isSecret }: Setting<unknown> = SETTINGS[setting];
    const name = isSecret ? `${setting} or ${setting}_FILE` : setting;
    yield `  ${name} (default: ${plain(fallbackInWords ?? String(fallback))})`;
    yield `      ${plain(meaning)}`;
  }
}

/** Without Markdown. */
function plain(text: string): string {
  return text.replace(/\[([^\]]+)\]\([^)]+\)/g, '$1').replaceAll('`', '');
}
