/** Runs a program of this folder. An expected error becomes one line on stderr. */
import { NAME } from '../src/identity.ts';
import { hideKeys } from '../src/platform/access/keys/format.ts';
import { ConfigError } from '../src/platform/config/config.ts';

export async function endWithOneLine(main: () => void | Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    const isSystem = error instanceof Error && 'code' in error; // its message is enough: ENOSPC, a wrong option …
    const isExpected = error instanceof ConfigError || isSystem;
    process.stderr.write(hideKeys(`${NAME}: ${isExpected ? error.message : String((error as Error).stack)}\n`));
    process.exitCode = 1;
  }
}
