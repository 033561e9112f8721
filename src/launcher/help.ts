/** `--help` of the commands that run a standalone server or edge. */
import { parseArgs } from 'node:util';
import type { Setting } from '../config/setting.ts';
import { SETTINGS } from '../config/settings.ts';
import { ConfigError } from '../config.ts';

export interface Command {
  /** "npm run server". */
  readonly name: string;
  /** Its description, in lines. */
  readonly about: readonly string[];
  readonly settings: readonly (keyof typeof SETTINGS)[];
}

/** Prints the help and returns true if the arguments request it. Throws ConfigError for any other argument. */
export function printHelp(command: Command, args = process.argv.slice(2)): boolean {
  const wantsHelp = read(command.name, args);
  if (wantsHelp) process.stdout.write(`${[...text(command)].join('\n')}\n`);
  return wantsHelp;
}

function read(name: string, args: readonly string[]): boolean {
  try {
    const { values } = parseArgs({ args: [...args], options: { help: { type: 'boolean', short: 'h' } } });
    return values.help === true;
  } catch {
    throw new ConfigError(`${name} takes no arguments but --help: everything else is a setting (docs/settings.md)`);
  }
}

function* text({ name, about, settings }: Command): Generator<string> {
  yield* [name, '', ...about, '', 'Settings, as environment variables (docs/settings.md has the others):', ''];
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
