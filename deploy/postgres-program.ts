/** Runs PostgreSQL's programs. The password is in their environment, because every user can see arguments. */
import { spawnSync } from 'node:child_process';
import { ConfigError } from '../src/config.ts';

/** Runs a program to its end. Throws ConfigError with its message if it fails. */
export function runProgram(program: string, args: readonly string[], databaseUrl?: string): void {
  const { dbname, password } = databaseUrl === undefined ? {} : separate(databaseUrl);
  const { status, error, stderr } = spawnSync(program, [...args, ...(dbname ? [`--dbname=${dbname}`] : [])], {
    env: { ...withoutSecrets(), ...(password && { PGPASSWORD: password }) },
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  if (error) throw new ConfigError(`${program} can't be run (${error.message}): install PostgreSQL's client programs`);
  if (status !== 0) throw new ConfigError(stderr.trim().replaceAll('\n', ' ') || `${program} ended with ${status}`);
}

function separate(databaseUrl: string): { dbname: string; password: string } {
  const url = new URL(databaseUrl);
  const password = decodeURIComponent(url.password);
  url.password = '';
  return { dbname: url.href, password };
}

function withoutSecrets(): NodeJS.ProcessEnv {
  const { DATABASE_URL, REDIS_URL, OPERATOR_KEY, ...rest } = process.env;
  return rest;
}
