/**
 * Runs work with the same name so many at a time, the owners in turn, and what one owner has in the order of arrival.
 * Work with different names runs concurrently.
 */
import { StoreUnavailable } from './store-errors.ts';

export interface QueueOptions {
  /** How much work of a name runs at once. */
  readonly atOnce: number;
  /** How many pieces of work of a name wait, and for how long. The result throws StoreUnavailable for others. */
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
}

interface Waiting {
  readonly start: () => void;
  readonly fail: (reason: string) => void;
}

interface Queue {
  running: number;
  /** What waits, by owners: first the one whose turn is next. */
  readonly waiting: Map<unknown, Waiting[]>;
}

export class NamedQueues {
  readonly #options: QueueOptions;
  /** The names of which work runs. */
  readonly #queues = new Map<string, Queue>();
  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** How much work waits. */
  get waiting(): number {
    return this.#queues.values().reduce((sum, queue) => sum + count(queue), 0);
  }

  async run<T>(name: string, work: () => Promise<T>, owner?: unknown): Promise<T> {
    const queue = this.#queues.get(name) ?? { running: 0, waiting: new Map() };
    this.#queues.set(name, queue);
    if (queue.running < this.#options.atOnce) queue.running += 1;
    else await this.#wait(name, queue, owner);
    try {
      return await work();
    } finally {
      const next = popAfter(owner, queue);
      if (next !== undefined)
        next.start(); // in the place of this one
      else {
        queue.running -= 1;
        if (queue.running === 0) this.#queues.delete(name);
      }
    }
  }

  /** When too many wait, the last one of the owner who has most gives its place to one who has fewer. */
  async #wait(name: string, queue: Queue, owner: unknown): Promise<void> {
    const { maxWaiting, maxWaitMs } = this.#options;
    const own = queue.waiting.get(owner) ?? [];
    if (count(queue) >= maxWaiting) {
      const most = queue.waiting.values().reduce((one, other) => (other.length > one.length ? other : one));
      const reason = `too many calls wait for ${name}`;
      if (most.length <= own.length + 1) throw new StoreUnavailable(reason);
      most.pop()?.fail(reason);
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { start: resolve, fail: (reason: string) => reject(new StoreUnavailable(reason)) };
    const timer = setTimeout(() => {
      own.splice(own.indexOf(waiting), 1);
      if (own.length === 0) queue.waiting.delete(owner);
      waiting.fail(`${name} was not available within ${maxWaitMs / 1_000} s`);
    }, maxWaitMs);
    own.push(waiting);
    queue.waiting.set(owner, own);
    await promise.finally(() => clearTimeout(timer));
  }
}

function count({ waiting }: Queue): number {
  return waiting.values().reduce((sum, { length }) => sum + length, 0);
}

/** Takes the first of the owner whose turn it is after this one. That owner goes to the end of the line. */
function popAfter(last: unknown, { waiting }: Queue): Waiting | undefined {
  const turn = waiting.entries().find(([owner]) => owner !== last) ?? [...waiting][0];
  if (turn === undefined) return undefined;
  const [owner, own] = turn;
  const next = own.shift();
  waiting.delete(owner);
  if (own.length > 0) waiting.set(owner, own);
  return next;
}
