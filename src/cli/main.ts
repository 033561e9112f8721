/** The `petstore` command: the operator's accounts, keys, bans and usage, from a terminal. See `petstore --help`. */
import { toFailure } from './failure.ts';
import { program } from './program.ts';

// Whoever reads the output may stop reading: `petstore account list | head -1`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});
process.stderr.on('error', () => undefined);

const args = process.argv.slice(2);
const end = args.indexOf('--');
/** Whether programs read it: looked for here, as a command may be wrong before its options are read. */
const isJson = args.slice(0, end < 0 ? args.length : end).includes('--json');

try {
  await program(isJson).parseAsync();
} catch (error) {
  const failure = toFailure(error);
  if (failure !== undefined) {
    const { code, message, exitCode } = failure;
    process.stderr.write(isJson ? `${JSON.stringify({ code, message })}\n` : `petstore: ${message}\n`);
    process.exitCode = exitCode;
  }
}
