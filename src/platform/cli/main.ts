/** The command: manages accounts, keys, bans and usage from a terminal. See its `--help`. */
import { failure } from './failure.ts';
import { report, run } from './program.ts';

const args = process.argv.slice(2);

process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  // The reader of the output may close the pipe: `account list | head -1`.
  if (code === 'EPIPE') process.exit(0);
  process.exit(report(failure('OUTPUT_FAILED', `the output can't be written: ${message}`), args, process.stderr));
});
process.stderr.on('error', () => undefined);

process.exitCode = await run(args, process.stdout, process.stderr);
