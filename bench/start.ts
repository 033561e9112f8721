/**
 * `npm run bench:start`: how long a second `npm start` takes until the first 200 on /healthz, and the CPU time that it has
 * cost by then, of each program. The numbers are the medians of eleven starts, after one that leaves a compile cache.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { childrenOf, launcherSettings } from '../test/support/launcher.ts';
import { calibrate, slowestLoop } from './calibration.ts';
import { cpuTimesUs } from './cpu.ts';
import { median } from './numbers.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const STARTS = 11;
const POLL_MS = 5;
const GIVE_UP_MS = 60_000;

/** In seconds. */
type Start = Readonly<Record<string, number>>;

const { settings, remove } = await launcherSettings();
try {
  await startOnce();
  const starts: Start[] = [];
  for (let count = 0; count < STARTS; count += 1) {
    calibrate();
    starts.push(await startOnce());
  }
  for (const what of Object.keys(starts[0] ?? {})) {
    const seconds = median(starts.map((start) => start[what] ?? Number.NaN));
    process.stdout.write(`${what.padEnd(24)} ${seconds.toFixed(2)} s\n`);
  }
  process.stdout.write(`The slowest calibrating loop took ${slowestLoop().toFixed(1)} times the fastest.\n`);
} finally {
  await remove();
}

async function startOnce(): Promise<Start> {
  const startMs = performance.now();
  const env = { ...process.env, ...settings };
  const npm = spawn('npm', ['start'], { cwd: ROOT, env, detached: true, stdio: 'ignore' });
  const ended = once(npm, 'exit');
  try {
    while (!(await isHealthy(Number(settings.PORT)))) {
      if (npm.exitCode !== null || performance.now() - startMs > GIVE_UP_MS) throw new Error('npm start failed');
      await delay(POLL_MS);
    }
    const wall = (performance.now() - startMs) / 1_000;
    return { 'first 200 on /healthz': wall, ...(await cpuTimes(Number(npm.pid))) };
  } finally {
    process.kill(-Number(npm.pid), 'SIGINT'); // as the terminal does
    await ended;
  }
}

async function isHealthy(port: number): Promise<boolean> {
  try {
    const [response] = await once(request({ port, path: '/healthz', agent: false }).end(), 'response');
    response.resume();
    return response.statusCode === 200;
  } catch {
    return false;
  }
}

/** The launcher is the shell's process that has run the installation before, which is counted with it. */
async function cpuTimes(npm: number): Promise<Start> {
  const [launcher] = await childrenOf(npm);
  const children = await childrenOf(launcher?.pid ?? -1);
  const seconds = (pids: readonly number[], withChildren?: true) =>
    (cpuTimesUs({ pids, ...(withChildren && { withChildren }) }) ?? Number.NaN) / 1_000_000;
  const those = (part: string) => children.filter(({ command }) => command.includes(part)).map(({ pid }) => pid);
  const [server, envoy] = [seconds(those('src/main.ts')), seconds(those('--config-path'))];
  const all = seconds(launcher === undefined ? [] : [launcher.pid], true);
  const times = { 'CPU time: npm': seconds([npm]), launcher: all - server - envoy, server, Envoy: envoy };
  return { ...times, together: Object.values(times).reduce((sum, time) => sum + time, 0) };
}
