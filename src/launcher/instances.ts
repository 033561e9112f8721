/** The servers behind Envoy. Each is supervised independently of the others. */
import type { Child } from './child.ts';
import { Instance, type ServerProgram } from './instance.ts';
import { supervise } from './supervisor.ts';

export class Instances {
  readonly all: readonly [Instance, ...Instance[]];
  readonly #report: (line: string) => void;
  readonly #shutdown = new AbortController();

  constructor(program: ServerProgram, report: (line: string) => void) {
    const others = Array.from({ length: program.config.instances - 1 }, (_, index) => new Instance(program, index + 1));
    this.all = [new Instance(program, 0), ...others];
    this.#report = report;
  }

  /** The current or last processes, in the order of their ports. */
  get children(): readonly [Child, ...Child[]] {
    const [first, ...others] = this.all;
    return [first.child, ...others.map(({ child }) => child)];
  }

  /** Aborted when the servers start to stop. */
  get shutdown(): AbortSignal {
    return this.#shutdown.signal;
  }

  /** Starts all servers and resolves when they serve. The first starts alone: it creates the tables and the keys. */
  async start(): Promise<void> {
    const [first, ...others] = this.all;
    await first.start();
    await Promise.all(others.map((instance) => instance.start()));
  }

  /** Supervises the servers. Resolves after `stop`. Rejects when one fails too often and no other serves. */
  async supervise(): Promise<void> {
    const isRedundant = () => this.all.some(({ isServing }) => isServing);
    await Promise.all(
      this.all.map((instance) => supervise(instance, { shutdown: this.shutdown, report: this.#report, isRedundant })),
    );
  }

  /** Stops restarting servers that end. */
  stopSupervision(): void {
    this.#shutdown.abort();
  }

  /** Sends all servers SIGTERM, and SIGKILL after `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.stopSupervision();
    await Promise.all(this.all.map((instance) => instance.stop(graceMs)));
  }
}
