/**
 * The command line of a benchmark or a long test campaign: its options, its interruption by a signal, and its exit
 * code.
 */
import { Command, InvalidArgumentError } from 'commander';
import { ConfigError } from '../src/platform/config/config.ts';

/** An expected failure. Its message is shown without a stack trace. */
export class CommandFailed extends Error {
  override name = 'CommandFailed';
}

class Interrupted extends Error {}

/** A command without subcommands. A mistake in its options ends the process with exit code 2. */
export function createCommand(name: string, description: string): Command {
  return new Command(name)
    .usage('[options]')
    .description(description.replaceAll('\n', ' ')) // commander wraps it to the terminal's width
    .helpOption('--help', 'show this help')
    .showHelpAfterError('(see --help)')
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
}

/** Parses an option's whole number from `min` to `max`. */
export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

/**
 * Runs `main` with the options of the command line. The signal is aborted by the first SIGINT, SIGTERM or SIGHUP. The
 * exit code is 130 after such a signal, and 2 after any other failure.
 */
export async function run<Options>(
  command: Command,
  main: (options: Options, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  command.parse();
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => controller.abort(new Interrupted(`stopped by ${signal}`)));
  }
  // A closed terminal, or "| head", must not end the process before it has cleaned up.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  try {
    await main(command.opts() as Options, controller.signal);
  } catch (thrown) {
    const { aborted, reason } = controller.signal;
    const error = aborted ? reason : thrown;
    const isExpected = [Interrupted, CommandFailed, ConfigError].some((kind) => error instanceof kind);
    process.stderr.write(`${command.name()}: ${isExpected ? error.message : (error.stack ?? error)}\n`);
    process.exitCode = aborted ? 130 : 2;
  }
}
