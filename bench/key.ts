/** Where the load's API key comes from, and what lets it make more requests than any plan: the only place that knows. */
import { readFile } from 'node:fs/promises';
import { demoKeyFile } from '../src/keys/key-files.ts';

const AS_MANY_AS_IT_TAKES = '2147483647';

/** The server's settings for the load: the demo account's plan has no limit in practice, but is counted as ever. */
export const LOAD_ENV: Readonly<Record<string, string>> = {
  BUSINESS_PER_MINUTE: AS_MANY_AS_IT_TAKES,
  BUSINESS_PER_DAY: AS_MANY_AS_IT_TAKES,
  DEMO_ACCOUNT: 'yes',
};

/** The key for a service whose data is in `dataDir`. */
export async function loadKey(dataDir: string): Promise<string> {
  return (await readFile(demoKeyFile(dataDir), 'utf8')).trim();
}
