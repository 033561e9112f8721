/** Failures of commands, as errors of Commander: the message for people, the code for programs, and the exit code. */
import { CommanderError } from 'commander';
import { NAME } from '../../identity.ts';
import { ConfigError } from '../config/config.ts';

/** A command that failed. The message is one line that says what to do. */
export function failure(code: string, message: string): CommanderError {
  return new CommanderError(1, code, message);
}

/** A wrong command line; the message says what is right. */
export function usageError(message: string, code = 'USAGE'): CommanderError {
  return new CommanderError(2, code, message);
}

/** The error of a command as a failure; undefined for `--help` and `--version`, which Commander throws too. */
export function toFailure(error: unknown): CommanderError | undefined {
  if (error instanceof ConfigError) return failure('INVALID_SETTING', error.message);
  if (!(error instanceof CommanderError)) return failure('INTERNAL', String((error as Error).stack ?? error));
  if (!error.code.startsWith('commander.')) return error;
  if (error.exitCode === 0) return undefined;
  if (error.code === 'commander.help') return usageError(`a command is missing: see "${NAME} --help"`);
  // Commander's message in one line, with its "did you mean".
  const lines = error.message.replace(/^error: /, '').split('\n');
  return usageError(lines.flatMap((line) => line.trim() || []).join(' '));
}
