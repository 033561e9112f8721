/** Where a restore writes what is to take a file's place. A start makes no new file while it is there. */
export const unfinishedRestore = (file: string) => `${file}.restoring`;
