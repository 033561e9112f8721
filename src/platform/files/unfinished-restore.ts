/** Where a restore writes what is to take a file's place. A start makes no new file while it is there. */
export function unfinishedRestore(file: string): string {
  return `${file}.restoring`;
}
