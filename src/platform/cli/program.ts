/** The commands and their common options and help. */
import { Command } from 'commander';
import { NAME, TITLE } from '../../identity.ts';
import { version } from '../config/constants.ts';
import { accountCommand, usageCommand } from './account-command.ts';
import { toServerAddress } from './arguments.ts';
import { banCommand } from './ban-command.ts';
import { toFailure } from './failure.ts';
import { keyCommand } from './key-command.ts';
import { printableJson } from './output.ts';

const HELP = `
Examples:
  ${NAME} account create --name "Acme Ltd" --plan pro
  ${NAME} key create --account 2 --label laptop
  ${NAME} ban list
  ${NAME} usage --account 2 --days 7

It calls the admin service of a running ${TITLE}, with the operator key in the
environment variable OPERATOR_KEY, or else in the file operator.key in DATA_DIR,
which the service creates when it first starts.

Exit codes: 0 done, 1 failed, 2 the command line is wrong. With --json an error
is JSON too, on standard error: {"code": …, "message": …}. Times are UTC.`;

interface Writer {
  write(text: string): unknown;
}

/** Runs a command line to its end, and returns the exit code. */
export async function run(args: readonly string[], out: Writer, err: Writer): Promise<number> {
  try {
    await program(wantsJson(args), out, err).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    return report(error, args, err);
  }
}

export function report(error: unknown, args: readonly string[], err: Writer): number {
  const failure = toFailure(error);
  if (failure === undefined) return 0;
  const { code, message, exitCode } = failure;
  err.write(wantsJson(args) ? `${printableJson(JSON.stringify({ code, message }))}\n` : `${NAME}: ${message}\n`);
  return exitCode;
}

/** Determined here, as parsing may fail before it reads the option. */
const wantsJson = (args: readonly string[]) => args.includes('--json');

/** Builds the command. `isJson`: write nothing but JSON. */
function program(isJson: boolean, out: Writer, err: Writer): Command {
  const root = new Command(NAME)
    .description(`Manages the accounts of a ${TITLE}: their API keys, limits, bans and usage.`)
    .option(
      '--address <host:port>',
      "the server's private gRPC port (default: GRPC_HOST and GRPC_PORT: 127.0.0.1:50051)",
      toServerAddress,
    )
    .option('--json', 'print JSON, for programs')
    .helpOption('-h, --help', 'show this help')
    .version(`${NAME} ${version()}`, '--version', 'show the version')
    .helpCommand(false)
    .addHelpText('after', HELP)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      outputError: () => undefined, // `run` prints the error that it catches
      writeOut: (text) => out.write(text),
      writeErr: (text) => void (isJson || err.write(text)),
    })
    .exitOverride();
  // Added last, as a command inherits the configuration that its parent has by then.
  accountCommand(root.command('account').helpCommand(false));
  keyCommand(root.command('key').helpCommand(false));
  banCommand(root.command('ban').helpCommand(false));
  usageCommand(root.command('usage').helpCommand(false));
  return root;
}
