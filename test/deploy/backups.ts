/** Helpers of the backup tests: they run the programs with a launcher's settings. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { findProgram } from '../support/machine/find-program.ts';
import { postgresMissing } from '../support/machine/postgres.ts';

const HOW = 'NO PSQL FOUND, so backups of PostgreSQL are not tested: install it (apt-get install postgresql-client)';
/** Why backups of PostgreSQL can't be tested; undefined when they can. */
export const dumpsMissing = postgresMissing ?? (findProgram(['psql']) === undefined ? HOW : undefined);

const DEPLOY = new URL('../../deploy', import.meta.url).pathname;

interface Ended {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

/** Runs `backup.ts`, `drill.ts` or `restore.ts`. */
export function run(
  program: 'backup' | 'drill' | 'restore',
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
): Promise<Ended> {
  return new Promise((resolve) => {
    const env = { ...process.env, ...settings };
    execFile(process.execPath, [join(DEPLOY, `${program}.ts`), ...args], { env }, (error, output, errors) =>
      resolve({ code: error === null ? 0 : Number(error.code), output, errors }),
    );
  });
}

/** Asserts that a program ends with exit code 1 and this line alone. */
export async function fails(t: ExecutionContext<unknown>, ending: Promise<Ended>, line: RegExp): Promise<void> {
  const { errors, ...ended } = await ending;
  t.deepEqual(ended, { code: 1, output: '' }, errors);
  t.regex(errors, line);
}

/** Makes a backup, and resolves with its path. */
export async function backup(folder: string, settings: Readonly<Record<string, string>>): Promise<string> {
  const { code, output, errors } = await run('backup', ['--to', folder], settings);
  if (code !== 0) throw new Error(errors);
  return output.trim();
}
