/** Runs tests one after the other, for as long as they take. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Resolves when they have ended, also by a signal to this process. The exit code becomes that of this process. */
export async function runAva(tests: readonly string[], settings: Readonly<Record<string, string>>): Promise<void> {
  const ava = ['--no-install', 'ava', '--concurrency=1', '--timeout=1d', ...tests];
  const running = spawn('npx', ava, { stdio: 'inherit', env: { ...process.env, ...settings } });
  const [code] = await once(running, 'exit');
  process.exitCode = code ?? 1;
}
