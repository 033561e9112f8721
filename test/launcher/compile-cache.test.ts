/** A later `npm start` reuses the code that Node compiled for an earlier one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../support/until.ts';
import { type Test, test } from './launch.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Runs `npm start` until the service is open, and stops it. Resolves with its exit code and all output. */
async function startOnce(t: Test, settings: Readonly<Record<string, string>>) {
  const env = { ...process.env, ...t.context.settings, ...settings };
  const npm = spawn('npm', ['start'], { cwd: ROOT, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let launcher = '';
  for (const stream of [npm.stdout, npm.stderr]) stream.setEncoding('utf8').on('data', (text) => (launcher += text));
  const ended = once(npm, 'close');
  try {
    await until(() => launcher.includes('Ctrl-C stops it') || npm.exitCode !== null, 'an open service');
  } finally {
    process.kill(-Number(npm.pid), 'SIGINT'); // as the terminal does
    await ended;
  }
  const server = await readFile(join(t.context.settings.DATA_DIR ?? '', 'logs', 'server.log'), 'utf8');
  return { code: npm.exitCode, launcher, server };
}

test('Start - the second run compiles neither the launcher nor the server again', async (t) => {
  const cache = `${t.context.settings.DATA_DIR}, compiled`;
  t.teardown(() => rm(cache, { recursive: true, force: true }));
  await startOnce(t, { NODE_COMPILE_CACHE: cache });
  const again = await startOnce(t, { NODE_COMPILE_CACHE: cache, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' });
  const accepted = (file: string) => new RegExp(`code cache for ESM file://\\S+/${file} was accepted`);
  t.regex(again.launcher, accepted('src/launcher/stack.ts'));
  t.regex(again.server, accepted('src/server.ts'));
});

test('Start - works with a compile cache that can not be written', async (t) => {
  const { code, launcher } = await startOnce(t, { NODE_COMPILE_CACHE: '/dev/null/nowhere' });
  t.is(code, 0);
  t.regex(launcher, /The pet store is open/);
});
