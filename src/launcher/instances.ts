/** The servers, side by side: one that is started again does not keep the others from their work. */
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

  /** The processes there are, or the last that there were, in the order of their ports. */
  get children(): readonly [Child, ...Child[]] {
    const [first, ...others] = this.all;
    return [first.child, ...others.map(({ child }) => child)];
  }

  /** Aborted when they are to stop. */
  get shutdown(): AbortSignal {
    return this.#shutdown.signal;
  }

  /** Starts all and resolves when they serve. The first comes first: it makes the tables and the keys. */
  async start(): Promise<void> {
    const [first, ...others] = this.all;
    await first.start();
    await Promise.all(others.map((instance) => instance.start()));
  }

  /** Watches over them. Resolves after `stop`; rejects when one is given up that no other stands in for. */
  async watch(): Promise<void> {
    const isRedundant = () => this.all.some(({ isServing }) => isServing);
    await Promise.all(
      this.all.map((instance) => supervise(instance, { shutdown: this.shutdown, report: this.#report, isRedundant })),
    );
  }

  /** From here on nothing is started again, and what ends may end. */
  stopSupervision(): void {
    this.#shutdown.abort();
  }

  /** Asks all to end, and makes them after `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.stopSupervision();
    await Promise.all(this.all.map((instance) => instance.stop(graceMs)));
  }
}
