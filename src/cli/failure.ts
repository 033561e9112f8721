/** How a command fails: what people and programs are told of it, and the exit code. */
import { CommanderError } from 'commander';
import { ConfigError } from '../config.ts';

/** 0 is success. */
const [FAILED, USAGE] = [1, 2];

/** A command that could not do what it was asked. The message is one line that says what to do about it. */
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

/** A command that was not written as it should be; the message says how. */
export class UsageError extends Failure {
  override name = 'UsageError';

  constructor(message: string, code = 'USAGE') {
    super(code, message, USAGE);
  }
}

/** Whatever a command has thrown, as a Failure; undefined when it was no failure: help or the version was asked for. */
export function toFailure(error: unknown): Failure | undefined {
  if (error instanceof Failure) return error;
  if (error instanceof ConfigError) return new Failure('INVALID_SETTING', error.message);
  if (!(error instanceof CommanderError)) return new Failure('INTERNAL', String((error as Error).stack ?? error));
  if (error.exitCode === 0) return undefined;
  if (error.code === 'commander.help') return new UsageError('a command is missing: see "petstore --help"');
  return new UsageError(toLine(error.message));
}

/** Commander's complaint, with its "did you mean" on the same line. */
function toLine(text: string): string {
  return text
    .replace(/^error: /, '')
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ');
}
