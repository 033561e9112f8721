/**
 * Rotates logs by size: `server.log` becomes `server.log.1`, that `server.log.2`, and so on. The writer keeps writing
 * to its open file until it is told to reopen the log, so no line is lost, and requests cost nothing more.
 *
 * (Libraries such as pino-roll rotate only what their own process writes. Here Envoy writes too.)
 */
import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import type { Config } from '../config/config.ts';
import { repeat } from './repeat.ts';

const POLL_MS = 1_000;

type Limits = Pick<Config, 'logMaxBytes' | 'logFiles'>;

/** Checks the sizes of the logs every second until shutdown. `reopen` makes all writers open them by name again. */
export async function rotateLogs(
  files: readonly string[],
  reopen: () => Promise<void>,
  limits: Limits,
  shutdown: AbortSignal,
): Promise<void> {
  let isReopened = true;
  await repeat(POLL_MS, shutdown, async () => {
    // No second rotation before all writers have reopened their logs: one may still write to an old file.
    if (isReopened && files.filter((file) => rotate(file, limits)).length === 0) return;
    isReopened = await reopen().then(
      () => true,
      () => false,
    );
  });
}

/**
 * Rotates the file if it is large. Returns whether the writer has to reopen it: also one that a full disk refused, or
 * that somebody has deleted. Creating it here lets its writer open it on a full disk.
 */
function rotate(file: string, { logMaxBytes, logFiles: maxFiles }: Limits): boolean {
  try {
    if (statSync(file).size < logMaxBytes) return false;
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
