/** Failures of commands: the message for people, the code for programs, and the exit code. */
import { CommanderError } from 'commander';
import { ConfigError } from '../config/config.ts';

/** A command that failed. The message is one line that says what to do. */
export class Failure extends Error {
  /** What happened, for programs. */
  readonly code: string;
  readonly exitCode: number;

  constructor(code: string, message: string, exitCode = 1) {
    super(message);
    this.code = code;
    this.exitCode = exitCode;
  }
}

/** A wrong command line; the message says what is right. */
export function usageError(message: string, code = 'USAGE'): Failure {
  return new Failure(code, message, 2);
}

/** The error of a command as a Failure; undefined for `--help` and `--version`, which Commander throws too. */
export function toFailure(error: unknown): Failure | undefined {
  if (error instanceof Failure) return error;
  if (error instanceof ConfigError) return new Failure('INVALID_SETTING', error.message);
  if (!(error instanceof CommanderError)) return new Failure('INTERNAL', String((error as Error).stack ?? error));
  if (error.exitCode === 0) return undefined;
  if (error.code === 'commander.help') return usageError('a command is missing: see "petstore --help"');
  // Commander's message in one line, with its "did you mean".
  return usageError(
    error.message
      .replace(/^error: /, '')
      .trim()
      .replaceAll(/\s*\n\s*/g, ' '),
  );
}
