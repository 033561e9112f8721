/** Failures of commands: the message for people, the code for programs, and the exit code. */
import { CommanderError } from 'commander';
import { ConfigError } from '../config.ts';

/** 0 is success. */
const [FAILED, USAGE] = [1, 2];

/** A command that failed. The message is one line that says what to do. */
export class Failure extends Error {
  override name = 'Failure';
  /** What happened, for programs. */
  readonly code: string;
  readonly exitCode: number;

  constructor(code: string, message: string, exitCode = FAILED) {
    super(message);
    this.code = code;
    this.exitCode = exitCode;
  }
}

/** A wrong command line; the message says what is right. */
export class UsageError extends Failure {
  override name = 'UsageError';

  constructor(message: string, code = 'USAGE') {
    super(code, message, USAGE);
  }
}

/** The error of a command as a Failure; undefined for `--help` and `--version`, which Commander throws too. */
export function toFailure(error: unknown): Failure | undefined {
  if (error instanceof Failure) return error;
  if (error instanceof ConfigError) return new Failure('INVALID_SETTING', error.message);
  if (!(error instanceof CommanderError)) return new Failure('INTERNAL', String((error as Error).stack ?? error));
  if (error.exitCode === 0) return undefined;
  if (error.code === 'commander.help') return new UsageError('a command is missing: see "petstore --help"');
  return new UsageError(toLine(error.message));
}

/** Commander's error message in one line, with its "did you mean". */
function toLine(text: string): string {
  return text
    .replace(/^error: /, '')
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ');
}
