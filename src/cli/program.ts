/** The commands and their common options and help. */
import { Command, Help } from 'commander';
import { version } from '../config/constants.ts';
import { accountCommand } from './account-command.ts';
import { toServerAddress } from './arguments.ts';
import { banCommand } from './ban-command.ts';
import { keyCommand } from './key-command.ts';
import { examples } from './output.ts';
import { usageCommand } from './usage-command.ts';

const EXAMPLES = [
  'account create --name "Acme Ltd" --plan pro',
  'key create --account 2 --label laptop',
  'ban list',
  'usage --account 2 --days 7',
];

const HELP = `
It calls the admin service of a running pet store, with the operator key in the
environment variable OPERATOR_KEY, or else in the file operator.key in DATA_DIR,
which the service creates when it first starts.

Exit codes: 0 done, 1 failed, 2 the command line is wrong. With --json an error
is JSON too, on standard error: {"code": …, "message": …}. Times are UTC.`;

/** Builds the `petstore` command. `isJson`: write nothing but JSON. */
export function program(isJson: boolean): Command {
  const root = new Command('petstore')
    .description('Manages the accounts of a pet store: their API keys, limits, bans and usage.')
    .option(
      '--address <host:port>',
      "the server's private gRPC port (default: GRPC_HOST and GRPC_PORT: 127.0.0.1:50051)",
      toServerAddress,
    )
    .option('--json', 'answer in JSON, for programs')
    .helpOption('-h, --help', 'show this help')
    .version(`petstore ${version()}`, '--version', 'show the version')
    .helpCommand(false)
    .addHelpText('after', examples(EXAMPLES, HELP))
    .configureHelp({ showGlobalOptions: true, subcommandTerm, formatHelp })
    .configureOutput({
      outputError: () => undefined, // main.ts prints the error that it catches
      writeErr: (text) => void (isJson || process.stderr.write(text)),
    })
    .exitOverride();
  // Added last, as a command inherits the configuration that its parent has by then.
  const add = (name: string, group: string) =>
    root.command(name).helpGroup(group).commandsGroup(group).helpCommand(false);
  accountCommand(add('account', 'Accounts:'));
  keyCommand(add('key', 'API keys:'));
  banCommand(add('ban', 'Bans and usage:'));
  usageCommand(add('usage', 'Bans and usage:'));
  return root;
}

/**
 * Commander's help. The top level lists the subcommands, not the commands that only group them. Only here, because
 * Commander also looks for similar names among the visible commands: "Did you mean account?".
 */
function formatHelp(command: Command, helper: Help): string {
  const visibleCommands = ({ commands }: Command) =>
    commands.flatMap((one) => (one.commands.length > 0 ? one.commands : one));
  const listing: Help = Object.assign(Object.create(helper), { visibleCommands });
  return new Help().formatHelp(command, listing);
}

/** `account show <id>`. */
function subcommandTerm(command: Command): string {
  const group = command.parent?.parent ? [command.parent.name()] : [];
  const placeholders = command.registeredArguments.map((argument) => `<${argument.name()}>`);
  return [...group, command.name(), ...placeholders].join(' ');
}
