/** What all commands have in common: `--help`, misspelled settings, and how errors are printed. */
import { parseArgs } from 'node:util';
import { hideKeys } from '../access/keys/format.ts';
import { type Config, ConfigError, readConfig } from '../config/config.ts';
import { describeMisspelled } from '../config/misspelled.ts';
import { PRIVATE_UMASK } from '../files/private-folder.ts';
import { ChildExited } from './child.ts';
import { TemporaryFailure, TooManyFailures } from './supervisor.ts';

export interface Command {
  /** "npm run server". */
  readonly name: string;
  /** Its description. */
  readonly about: string;
}

/** Runs a command. Warns of variables that look like misspelled settings. Prints an expected error as one line. */
export async function run(main: (config: Config) => Promise<void>, command?: Command): Promise<void> {
  // Writing to a closed terminal fails. That must not end the process.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  process.umask(PRIVATE_UMASK);
  try {
    if (command !== undefined && printHelp(command)) return;
    for (const line of describeMisspelled(process.env)) process.stderr.write(`petstore: ${line}\n`);
    await main(readConfig());
  } catch (error) {
    process.stderr.write(hideKeys(`petstore: ${describe(error)}\n`));
    process.exit(1);
  }
}

function describe(error: unknown): string {
  const isSystem = error instanceof Error && 'syscall' in error; // the message of EACCES and others is clear
  const expected = [ConfigError, ChildExited, TooManyFailures, TemporaryFailure];
  const isExpected = isSystem || expected.some((kind) => error instanceof kind);
  return isExpected ? (error as Error).message : String((error as Error).stack);
}

/** Throws ConfigError when the settings ask a standalone server or edge for several servers. */
export function checkSingleInstance({ instances }: Config, command: Command): void {
  if (instances === 1) return;
  const advice = "unset it and list the edge's servers in SERVERS, or use npm start";
  throw new ConfigError(`INSTANCES=${instances} is not for ${command.name}: ${advice}`);
}

/** Prints the help and returns true if the arguments request it. Throws ConfigError for any other argument. */
function printHelp({ name, about }: Command): boolean {
  try {
    const { help = false } = parseArgs({ options: { help: { type: 'boolean', short: 'h' } } }).values;
    if (help)
      process.stdout.write(`${name}\n\n${about}\n\nIts settings are environment variables: docs/settings.md.\n`);
    return help;
  } catch {
    throw new ConfigError(`${name} takes no arguments but --help: everything else is a setting (docs/settings.md)`);
  }
}
