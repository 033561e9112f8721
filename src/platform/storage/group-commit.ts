/**
 * Group commit: writes that wait at the same time share one transaction, and so one fsync. Those that come during a
 * commit are the next group. Callers get their results after the commit, failures too. When it fails, or the database
 * becomes unavailable (the disk is full), all writes of the group fail with that error and none is stored.
 *
 * Each transaction runs in a savepoint, so that its failure rolls back only its own changes. Consecutive shareable
 * writes form a batch: they run side by side in one savepoint, and share statements (sqlite-connection.ts). When some
 * of them fail, all are rolled back. Those that succeeded run again, together; those that failed, each by itself.
 *
 * Owners take turns: a group has the first write of each, then the second. It is small, and who comes during it is the
 * next: he waits for little, however much another has to write.
 */
import type { Runner, TransactionOptions } from './engine.ts';
import { inFairOrder, type Owned } from './fair-order.ts';
import type { SqliteWriter } from './sqlite-writer.ts';
import { Cancelled, StoreUnavailable } from './store-errors.ts';

/** What a commit has at most, of one owner and of several, in shareable writes: each waits for the last of them. */
const [MAX_GROUP, MAX_SHARED_GROUP] = [256, 128];
/** After so long the next group begins: a write may take as long as all others. */
const MAX_MS = 20;
/** Another one takes as long as so many: each of its statements is a way to the thread and back. */
const COST_ALONE = 32;

interface Write extends Owned {
  readonly work: (tx: Runner) => Promise<unknown>;
  readonly isCancelled: TransactionOptions['isCancelled'];
  /** Whether it may run side by side with others, and again. */
  readonly isShareable: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Set when the write has run. Its caller gets it after the commit. */
  result?: Promise<unknown>;
}

/** Returns what runs a write in the next group. */
export function groupCommit(writer: SqliteWriter) {
  let queue: Write[] = [];
  let isDraining = false;
  /** Whether the open transaction has changes since its savepoint. */
  let hasChanges = false;

  async function drain(): Promise<void> {
    isDraining = true;
    while (queue.length > 0) await commitGroup();
    isDraining = false;
  }

  async function commitGroup(): Promise<void> {
    const group: Write[] = [];
    const owners = new Set<unknown>();
    let cost = 0;
    queue = inFairOrder(queue);
    const max = () => (owners.size > 1 ? MAX_SHARED_GROUP : MAX_GROUP);
    const endMs = performance.now() + MAX_MS;
    try {
      if (!writer.isIdle) await writer.command('end');
      await writer.command('begin');
      hasChanges = false;
      while (queue.length > 0 && cost < max() && (group.length === 0 || performance.now() < endMs)) {
        const newcomer = queue.findIndex(({ owner }) => !owners.has(owner)); // it may have come during this group
        if (newcomer > 0) queue.unshift(...queue.splice(newcomer, 1));
        const batch = takeBatch(max() - cost);
        group.push(...batch);
        for (const { owner } of batch) owners.add(owner);
        cost += batch.length * (batch[0]?.isShareable === false ? COST_ALONE : 1);
        await run(batch);
      }
      await writer.command('commit');
    } catch (error) {
      await writer.command('end').catch(() => undefined); // the next group tries again
      if (group.length === 0) group.push(...queue.splice(0)); // the transaction could not begin
      for (const write of group) write.reject(error);
      return;
    }
    for (const write of group) write.resolve(write.result);
  }

  /** Removes the next batch from the queue, at most `limit` writes, without those that are cancelled. */
  function takeBatch(limit: number): readonly Write[] {
    const end = queue.findIndex(({ isShareable }) => !isShareable);
    const length = end === -1 ? queue.length : Math.max(end, 1);
    return queue.splice(0, Math.min(length, limit)).filter((write) => {
      const isCancelled = write.isCancelled?.() === true;
      if (isCancelled) write.reject(new Cancelled());
      return !isCancelled;
    });
  }

  async function run(batch: readonly Write[]): Promise<void> {
    if (batch.length === 0) return;
    if (hasChanges) await writer.command('mark');
    for (const write of batch) write.result = write.work(writer);
    const outcomes = await Promise.allSettled(batch.map(({ result }) => result));
    const failed = batch.filter((_, index) => outcomes[index]?.status === 'rejected');
    hasChanges = failed.length === 0;
    if (failed.length === 0) return;
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected' && outcome.reason instanceof StoreUnavailable) throw outcome.reason;
    }
    await writer.command('undo');
    if (batch.length === 1) return;
    await run(batch.filter((write) => !failed.includes(write)));
    for (const write of failed) await run([write]);
  }

  return <T>(
    work: (tx: Runner) => Promise<T>,
    { isCancelled, owner }: TransactionOptions = {},
    isShareable = false,
  ): Promise<T> =>
    new Promise((resolve, reject) => {
      const callbacks = { resolve: resolve as (value: unknown) => void, reject };
      queue.push({ work, isCancelled, owner, isShareable, ...callbacks });
      if (!isDraining) void drain();
    });
}
