/**
 * Rotates logs by size: `server.log` becomes `server.log.1`, that `server.log.2`, and so on. The writer keeps writing
 * to its open file until it is told to reopen the log, so no line is lost, and requests cost nothing more.
 *
 * (Libraries such as pino-roll rotate only what their own process writes. Here Envoy writes too.)
 */
import { closeSync, existsSync, openSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { repeat } from './repeat.ts';

const POLL_MS = 1_000;

/** Checks the sizes of the logs every second until shutdown. `reopen` makes all writers open them by name again. */
export async function rotateLogs(
  files: readonly string[],
  reopen: () => Promise<void>,
  { logMaxBytes, logFiles }: Pick<Config, 'logMaxBytes' | 'logFiles'>,
  shutdown: AbortSignal,
): Promise<void> {
  let isReopened = true;
  await repeat(POLL_MS, shutdown, async () => {
    // No second rotation before all writers have reopened their logs: one may still write to an old file.
    const rotated = isReopened ? files.filter((file) => sizeOf(file) >= logMaxBytes && rotate(file, logFiles)) : [];
    // Without a rotation one is missing when a full disk refused a new file, or when somebody has deleted it.
    if (isReopened && rotated.length === 0 && files.every((file) => existsSync(file))) return;
    isReopened = await reopen().then(
      () => true,
      () => false,
    );
  });
}

/** 0 for a file that can't be read now, which must not end the launcher. */
function sizeOf(file: string): number {
  try {
    return statSync(file).size;
  } catch {
    return 0;
  }
}

/** Returns whether the writer has to reopen the file. Creating it here lets its writer open it on a full disk. */
function rotate(file: string, maxFiles: number): boolean {
  try {
    if (maxFiles === 1) {
      truncateSync(file); // its writer appends
      return false;
    }
    rmSync(`${file}.${maxFiles - 1}`, { force: true });
    for (let number = maxFiles - 2; number >= 1; number -= 1) {
      if (existsSync(`${file}.${number}`)) renameSync(`${file}.${number}`, `${file}.${number + 1}`);
    }
    renameSync(file, `${file}.1`);
    closeSync(openSync(file, 'a'));
    return true;
  } catch {
    return !existsSync(file);
  }
}
