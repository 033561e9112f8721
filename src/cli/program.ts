/** The tree of commands, and what they have in common: help on every level, mistakes in one line. */
import { Command } from 'commander';
import { accountCommand } from './accounts.ts';
import { keyCommand } from './keys.ts';
import { usageCommand } from './usage.ts';

const EXAMPLES = `
Examples:
  petstore account create --name "Acme Ltd" --plan pro
  petstore key create --account 2 --label laptop
  petstore usage --account 2 --days 7

It calls the admin service of a running pet store, with the operator key in the
environment variable OPERATOR_KEY, or else in the file operator.key in DATA_DIR,
where the service leaves it at its first start.`;

export function program(): Command {
  const root = new Command('petstore')
    .description('Manages the accounts of a pet store, their API keys and their usage.')
    .option('--address <host:port>', "the server's private gRPC port (default: 127.0.0.1 and GRPC_PORT, or 50051)")
    .option('--json', 'answer in JSON, for programs')
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
    .addHelpText('after', EXAMPLES)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ outputError: (text, write) => write(toLine(text)) })
    .exitOverride();
  // Added after the settings, which each command takes over from its parent.
  accountCommand(root.command('account'));
  keyCommand(root.command('key'));
  usageCommand(root.command('usage'));
  return root;
}

/** Commander's complaint, with its "did you mean" on the same line. */
function toLine(text: string): string {
  return `petstore: ${text
    .replace(/^error: /, '')
    .trim()
    .replaceAll(/\s*\n\s*/g, ' ')}\n`;
}
