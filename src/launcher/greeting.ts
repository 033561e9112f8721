/** What the launcher says when the service is open. Its curl line works when it is pasted into the same shell. */
import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import type { Config } from '../config.ts';
import { demoKeyFile } from '../keys/key-files.ts';
import { logDir } from './places.ts';
import { publicUrl } from './stack.ts';

export function greeting(config: Config): string {
  const url = publicUrl(config);
  const file = demoKeyFile(config.dataDir);
  const hasDemoKey = config.demoAccount && existsSync(file);
  const key = hasDemoKey ? `$(cat ${quote(nearPath(file))})` : '<API_KEY>';
  const call = `curl -H "Authorization: Bearer ${key}" ${quote(`${url}/pets`)}`;
  const lines = ['', `The pet store is open: ${url}`, '', `  ${call}`, ''];
  if (!hasDemoKey) {
    lines.push('Accounts and keys are made with the petstore command: npm run -s petstore -- --help', '');
  }
  if (config.databaseUrl !== undefined && config.redis === undefined) {
    lines.push('Limits are counted per instance, in this server alone. If others share its database, set REDIS_URL.');
  }
  if (config.instances > 1) {
    lines.push(`${config.instances} servers run. To restart one after the other: kill -HUP ${process.pid}`);
  }
  return [...lines, `Logs are in ${logDir(config)}. Ctrl-C stops it.`].join('\n');
}

/** The path from the folder that the reader is in, when it is below; npm says when that is another one than ours. */
function nearPath(file: string): string {
  const { INIT_CWD: readersFolder = process.cwd() } = process.env;
  const path = relative(process.cwd(), file);
  return readersFolder !== process.cwd() || path.startsWith('..') ? file : path;
}

/** A word for a POSIX shell; a leading dash would make an option of it. */
function quote(text: string): string {
  const word = text.startsWith('-') ? `./${text}` : text;
  return /^[\w./:@%+,=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
