/** The `petstore` command: the operator's accounts, keys and usage, from a terminal. See `petstore --help`. */
import { CommanderError } from 'commander';
import { ConfigError } from '../config.ts';
import { UsageError } from './arguments.ts';
import { program } from './program.ts';

// Whoever reads the output may stop reading: `petstore account list | head -1`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

try {
  await program().parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode; // it has said what is wrong, or shown its help
  } else {
    const isExpected = error instanceof UsageError || error instanceof ConfigError;
    process.stderr.write(`petstore: ${isExpected ? error.message : String((error as Error).stack)}\n`);
    process.exitCode = 1;
  }
}
