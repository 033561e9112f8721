/**
 * What hung: a process whose event loop stands still can't say which call it is busy with, and the launcher kills it.
 * So each call that begins is noted in memory that a second thread sees, which then logs the last ones. A note takes
 * 0.2 µs, the thread 10 MiB.
 */
import { Worker } from 'node:worker_threads';
import { KEY_PATTERN, REDACTED } from '../../access/keys/format.ts';
import type { Call } from '../../rpc/chain.ts';
import type { LogFile } from '../logging/log-file.ts';

const BEAT_MS = 500;
const SMALL = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 };

const SLOTS = 16;
const SLOT_BYTES = 256;
/** Two integers: how often the loop was seen to run, and how many calls have begun. */
const HEAD_BYTES = 8;

/** What the thread gets. */
export interface Watched {
  /** The head, and slots: a length of one byte, and a text. */
  readonly shared: SharedArrayBuffer;
  readonly headBytes: number;
  readonly slots: number;
  readonly slotBytes: number;
  /** The log. Undefined: stdout. */
  readonly file: string | undefined;
  readonly secret: RegExp;
  readonly redacted: string;
}

export function watchForHangs({ path, isFile }: Pick<LogFile, 'path' | 'isFile'>): (call: Call) => void {
  const shared = new SharedArrayBuffer(HEAD_BYTES + SLOTS * SLOT_BYTES);
  const head = new Int32Array(shared, 0, 2);
  const bytes = Buffer.from(shared);
  const workerData: Watched = {
    ...{ shared, headBytes: HEAD_BYTES, slots: SLOTS, slotBytes: SLOT_BYTES },
    ...{ file: isFile ? path : undefined, secret: KEY_PATTERN, redacted: REDACTED },
  };
  const options = { workerData, execArgv: [], env: {}, resourceLimits: SMALL };
  new Worker(new URL('watcher.mjs', import.meta.url), options).unref();
  const beat = () => {
    Atomics.add(head, 0, 1);
    Atomics.notify(head, 0);
  };
  setInterval(beat, BEAT_MS).unref();
  let calls = 0;
  return ({ operation, requestId, address }) => {
    const start = HEAD_BYTES + (calls % SLOTS) * SLOT_BYTES;
    calls += 1;
    const text = `${Date.now()} ${address} ${requestId} ${operation.path}`;
    bytes[start] = bytes.write(text, start + 1, SLOT_BYTES - 1, 'latin1');
    head[1] = calls;
  };
}
