/** The `petstore` command: manages accounts, keys, bans and usage from a terminal. See `petstore --help`. */
import { run } from './program.ts';

// The reader of the output may close the pipe: `petstore account list | head -1`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});
process.stderr.on('error', () => undefined);

process.exitCode = await run(process.argv.slice(2), process.stdout, process.stderr);
