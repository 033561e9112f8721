/** What three servers have logged. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestStack } from '../support/stack.ts';

/** The messages of each server that begin so. The last line of a log may be incomplete. */
export function messagesOf({ config }: TestStack, begin: string): Promise<string[][]> {
  return Promise.all(
    [1, 2, 3].map(async (server) => {
      const log = await readFile(join(config.dataDir, `logs/server-${server}.log`), 'utf8');
      const all = [...log.matchAll(/"msg":"([^"]*)"/g)].map(([, message = '']) => message);
      return all.filter((message) => message.startsWith(begin));
    }),
  );
}
