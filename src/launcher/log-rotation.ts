/**
 * Rotates logs by size: `server.log` becomes `server.log.1`, that `server.log.2`, and so on. Whoever writes one goes on
 * with the file that it has open until it is told to open the new one, so no line is lost, and no request costs more.
 *
 * (pino-roll and its like rotate what their own process writes. Here Envoy writes too.)
 */
import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../config.ts';

const POLL_MS = 1_000;

/** The logs of one part of the service. */
export interface LogGroup {
  readonly files: readonly string[];
  /** Has their writer go on with what has these names now. */
  reopen(): Promise<void>;
}

/** Looks at the logs' sizes every second until it is `over`. */
export async function rotateLogs(
  logs: readonly LogGroup[],
  { logMaxBytes, logFiles }: Pick<Config, 'logMaxBytes' | 'logFiles'>,
  shutdown: AbortSignal,
): Promise<void> {
  const toReopen = new Set<LogGroup>();
  while (!shutdown.aborted) {
    for (const group of logs) {
      for (const file of group.files) {
        // While a writer has not been told of the last rotation there is no other: it may write to an old file still.
        if (!toReopen.has(group) && sizeOf(file) >= logMaxBytes && rotate(file, logFiles)) toReopen.add(group);
      }
      if (toReopen.has(group))
        await group.reopen().then(
          () => toReopen.delete(group),
          () => undefined,
        );
    }
    await delay(POLL_MS, undefined, { signal: shutdown }).catch(() => undefined);
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Returns whether there is a new file. It is made here, so that its writer can open it on a full disk too. */
function rotate(file: string, maxFiles: number): boolean {
  try {
    rmSync(`${file}.${maxFiles - 1}`, { force: true });
    for (let number = maxFiles - 2; number >= 1; number -= 1) {
      if (existsSync(`${file}.${number}`)) renameSync(`${file}.${number}`, `${file}.${number + 1}`);
    }
    if (maxFiles === 1) rmSync(file);
    else renameSync(file, `${file}.1`);
    closeSync(openSync(file, 'a'));
    return true;
  } catch {
    return existsSync(`${file}.1`) && !existsSync(file);
  }
}
