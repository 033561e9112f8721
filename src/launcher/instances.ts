/**
 * The servers, side by side. One that ends by itself is started again, after a pause that grows while it keeps ending
 * soon after its start; the others go on meanwhile. An only server is not: its end is the end of the service.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Child, ChildEnded } from './child.ts';
import { Instance, type ServerProgram } from './instance.ts';

/** How long a server that follows another may take until it serves. */
export const START_MS = 60_000;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;
/** One that has run for so long has not ended soon after its start. */
const STEADY_MS = 10_000;

export class Instances {
  readonly all: readonly [Instance, ...Instance[]];
  readonly #say: (line: string) => void;
  readonly #over = new AbortController();

  constructor(program: ServerProgram, say: (line: string) => void) {
    const others = Array.from({ length: program.config.instances - 1 }, (_, index) => new Instance(program, index + 1));
    this.all = [new Instance(program, 0), ...others];
    this.#say = say;
  }

  /** The processes there are, or the last that there were, in the order of their ports. */
  get children(): readonly [Child, ...Child[]] {
    const [first, ...others] = this.all;
    return [first.child, ...others.map(({ child }) => child)];
  }

  /** Aborted when they are to stop. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** Starts all and resolves when they serve. The first comes first: it makes the tables and the keys. */
  async start(): Promise<void> {
    const [first, ...others] = this.all;
    await first.start();
    await Promise.all(others.map((instance) => instance.start()));
  }

  /** Watches over them. Resolves after `stop`; rejects when an only server has ended by itself. */
  async watch(): Promise<void> {
    await Promise.all(this.all.map((instance) => this.#watch(instance)));
  }

  /** From here on nothing is started again, and what ends may end. */
  retire(): void {
    this.#over.abort();
  }

  /** Asks all to end, and makes them after `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.retire();
    await Promise.all(this.all.map((instance) => instance.stop(graceMs)));
  }

  async #watch(instance: Instance): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    while (!this.over.aborted) {
      const startedAtMs = performance.now();
      const { child } = instance;
      const how = await child.ended;
      if (performance.now() - startedAtMs > STEADY_MS) pauseMs = FIRST_PAUSE_MS;
      await instance.alone(async () => {
        if (this.over.aborted || instance.child.isRunning) return; // a rolling restart has started the next
        const ended = new ChildEnded(child, how);
        if (this.all.length === 1) throw ended;
        if (!instance.isLeaving(child)) this.#say(`${capitalize(ended.message)}. Starting it again …`);
        pauseMs = await this.#startAgain(instance, pauseMs);
      });
    }
  }

  /** Tries until it serves, or all are to stop. Resolves with the pause to make should it end soon. */
  async #startAgain(instance: Instance, firstPauseMs: number): Promise<number> {
    let pauseMs = firstPauseMs;
    for (let told = ''; !this.over.aborted; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      await delay(pauseMs, undefined, { signal: this.over }).catch(() => undefined);
      try {
        await instance.start(START_MS);
        this.#say(`${capitalize(instance.name)} serves again.`);
        return Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
      } catch (error) {
        const reason = whyNotStarted(instance, error);
        if (reason !== told && !this.over.aborted) this.#say(`${reason}. It is tried again every few seconds.`);
        told = reason;
      }
    }
    return pauseMs;
  }
}

/** A line for people, without a full stop. */
export function whyNotStarted({ name, logFile }: Instance, error: unknown): string {
  if (error instanceof ChildEnded) return capitalize(error.message);
  return `${capitalize(name)} can't start: ${error instanceof Error ? error.message : error} (see ${logFile})`;
}

export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
