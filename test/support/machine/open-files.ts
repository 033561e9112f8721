import { readdirSync, readlinkSync } from 'node:fs';

/** What the file descriptors of a process refer to, on Linux. */
export function openFiles(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
    } catch {
      return []; // it was closed meanwhile
    }
  });
}
