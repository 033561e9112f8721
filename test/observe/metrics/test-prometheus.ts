/** Prometheus: promtool, and a real server with a test's configuration. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from '../../support/find-program.ts';
import { freePorts } from '../../support/ports.ts';
import { until } from '../../support/until.ts';

const PROMETHEUS = findProgram(['prometheus']);
const PROMTOOL = findProgram(['promtool']);
const HOW = 'NO PROMETHEUS FOUND, so nothing of this file is tested: install it (apt-get install prometheus)';

/** Why tests that use Prometheus can't run; undefined when they can. */
export const prometheusMissing = PROMETHEUS && PROMTOOL ? undefined : HOW;

/** Runs promtool in a folder. */
export function promtool(cwd: string, args: readonly string[], input = '') {
  const { status, stdout, stderr } = spawnSync(PROMTOOL ?? 'promtool', args, { cwd, input, encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

export class TestPrometheus {
  readonly #folder: string;
  readonly #url: string;
  readonly #process: ChildProcess;

  private constructor(folder: string, url: string, started: ChildProcess) {
    this.#folder = folder;
    this.#url = url;
    this.#process = started;
  }

  /** Starts a server with this configuration and copies of the files that it names. */
  static async start(config: string, files: Readonly<Record<string, string>>): Promise<TestPrometheus> {
    const folder = await mkdtemp(join(tmpdir(), 'petstore-prometheus-'));
    await writeFile(join(folder, 'prometheus.yml'), config);
    for (const [name, path] of Object.entries(files)) await copyFile(path, join(folder, name));
    const [port] = await freePorts(1);
    const address = `127.0.0.1:${port}`;
    const args = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=${address}`];
    const started = spawn(PROMETHEUS ?? 'prometheus', args, { cwd: folder, stdio: 'ignore' });
    const prometheus = new TestPrometheus(folder, `http://${address}`, started);
    const isReady = () =>
      fetch(`http://${address}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    await until(isReady, 'Prometheus');
    return prometheus;
  }

  /** Calls the HTTP API. Resolves with the data; rejects with the error, such as that of an expression. */
  // biome-ignore lint/suspicious/noExplicitAny: each path has a shape of its own
  async get(path: string, parameters: Readonly<Record<string, string>> = {}): Promise<any> {
    const response = await fetch(`${this.#url}/api/v1/${path}?${new URLSearchParams(parameters)}`);
    const { status, data, error } = (await response.json()) as { status: string; data: unknown; error?: string };
    if (status !== 'success') throw new Error(`${path} ${JSON.stringify(parameters)}: ${error}`);
    return data;
  }

  async stop(): Promise<void> {
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await ended;
    await rm(this.#folder, { recursive: true, force: true });
  }
}
