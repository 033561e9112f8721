/** The `petstore` command: manages accounts, keys, bans and usage from a terminal. See `petstore --help`. */
import { toFailure } from './failure.ts';
import { program } from './program.ts';

// The reader of the output may close the pipe: `petstore account list | head -1`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});
process.stderr.on('error', () => undefined);

const args = process.argv.slice(2);
const end = args.indexOf('--');
/** Whether errors are JSON. Determined here, as parsing may fail before it reads the option. */
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
