/** How the programs here end: with what they did, or with one line that says why not. */
import { ConfigError } from '../src/config.ts';
import { hideKeys } from '../src/logging/logger.ts';

export function endWithOneLine(main: () => void): void {
  try {
    main();
  } catch (error) {
    const isSystem = error instanceof Error && 'code' in error; // ENOSPC, a wrong option and the like say enough
    const isExpected = error instanceof ConfigError || isSystem;
    process.stderr.write(hideKeys(`petstore: ${isExpected ? error.message : String((error as Error).stack)}\n`));
    process.exitCode = 1;
  }
}
