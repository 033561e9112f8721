/** Helpers of the backup tests: they run the programs with a launcher's settings. */
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { missing } from '../support/machine/find-program.ts';
import { postgresMissing } from '../support/machine/postgres.ts';
import { Program } from '../support/service/process.ts';

/** Why backups of PostgreSQL can't be tested; undefined when they can. */
export const dumpsMissing = postgresMissing ?? missing('psql', 'postgresql-client');

const DEPLOY = new URL('../../deploy', import.meta.url).pathname;

interface Ended {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

/** Runs `backup.ts`, `drill.ts` or `restore.ts`. */
export async function run(
  program: 'backup' | 'drill' | 'restore',
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
): Promise<Ended> {
  const env = { ...process.env, ...settings };
  const running = new Program(process.execPath, [join(DEPLOY, `${program}.ts`), ...args], { env });
  const { code } = await running.ended;
  return { code, output: running.output, errors: running.errors };
}

/** Asserts that a program ends with exit code 0. Resolves with its output. */
export async function succeeds(t: ExecutionContext<unknown>, ending: Promise<Ended>): Promise<string> {
  const { code, output, errors } = await ending;
  t.is(code, 0, errors);
  return output;
}

/** Asserts that a program ends with exit code 1 and this line alone. */
export async function fails(t: ExecutionContext<unknown>, ending: Promise<Ended>, line: RegExp): Promise<void> {
  const { errors, ...ended } = await ending;
  t.deepEqual(ended, { code: 1, output: '' }, errors);
  t.regex(errors, line);
}

export async function backup(folder: string, settings: Readonly<Record<string, string>>): Promise<string> {
  const { code, output, errors } = await run('backup', ['--to', folder], settings);
  if (code !== 0) throw new Error(errors);
  return output.trim();
}
