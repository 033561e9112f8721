/** `npm run bench:start`: how long a start of the service takes, and what it costs. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { CommandFailed, createCommand, run } from '../test/support/command-line.ts';
import { cpuTimesUs } from '../test/support/machine/cpu-time.ts';
import { median } from '../test/support/numbers.ts';
import { childrenOf, launcherSettings } from '../test/support/service/launcher.ts';
import { until } from '../test/support/until.ts';
import { calibrate, slowestLoop } from './calibration.ts';
import { toColumns } from './columns.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const STARTS = 11;

/** Seconds, by what took them. */
type Start = Readonly<Record<string, number>>;

const command = createCommand(
  'bench:start',
  `Prints how long a second "npm start" takes until the first 200 on /healthz, and the CPU time of each program until
then. The figures are the medians of ${STARTS} starts, after one that fills the compile cache. It needs Linux.`,
);

async function main(_options: unknown, signal: AbortSignal): Promise<void> {
  const { settings, remove } = await launcherSettings();
  try {
    await startOnce(settings);
    const starts: Start[] = [];
    while (starts.length < STARTS) {
      signal.throwIfAborted();
      calibrate();
      starts.push(await startOnce(settings));
    }
    const rows = Object.keys(starts[0] ?? {}).map((what) => {
      return [what, `${median(starts.map((start) => start[what] ?? Number.NaN)).toFixed(2)} s`];
    });
    process.stdout.write(`${toColumns(rows).join('\n')}\n`);
    process.stdout.write(
      `The slowest calibrating loop took ${slowestLoop().toFixed(1)} times as long as the fastest.\n`,
    );
  } finally {
    await remove();
  }
}

async function startOnce(settings: Readonly<Record<string, string>>): Promise<Start> {
  const startMs = performance.now();
  const env = { ...process.env, ...settings };
  const npm = spawn('npm', ['start'], { cwd: ROOT, env, detached: true, stdio: 'ignore' });
  const ended = once(npm, 'exit');
  const isHealthy = async () => {
    if (npm.exitCode !== null) throw new CommandFailed(`npm start ended with exit code ${npm.exitCode}`);
    return fetch(`http://127.0.0.1:${settings.PORT}/healthz`)
      .then(({ ok }) => ok)
      .catch(() => false);
  };
  try {
    await until(isHealthy, 'a healthy service', 60_000);
    const seconds = (performance.now() - startMs) / 1_000;
    return { 'first 200 on /healthz': seconds, ...(await cpuTimes(Number(npm.pid))) };
  } finally {
    process.kill(-Number(npm.pid), 'SIGINT'); // as a terminal does
    await ended;
  }
}

/** The launcher replaces npm's shell, which has run the installation check before: that is counted with it. */
async function cpuTimes(npm: number): Promise<Start> {
  const [launcher] = await childrenOf(npm);
  if (launcher === undefined) throw new CommandFailed('npm start has no launcher');
  const children = await childrenOf(launcher.pid);
  const pidsOf = (part: string) => children.filter(({ command: line }) => line.includes(part)).map(({ pid }) => pid);
  const seconds = (...pids: number[]) => cpuTimesUs({ pids }) / 1_000_000;
  const server = seconds(...pidsOf('src/main.ts'));
  const envoy = seconds(...pidsOf('--config-path'));
  const together = cpuTimesUs({ pids: [launcher.pid], withChildren: true }) / 1_000_000;
  const npmS = seconds(npm);
  const launcherS = together - server - envoy;
  return { 'CPU time: npm': npmS, launcher: launcherS, server, Envoy: envoy, together: npmS + together };
}

await run(command, main);
