/**
 * The second thread of hangs.ts. In JavaScript: to load TypeScript would take 20 MiB more.
 *
 * It logs as the process does, in JSON lines. Keys are redacted: a caller may have sent one as the id of his request.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';

/** Sooner than the launcher kills the process, and later than on a busy machine. */
const HANG_MS = 2_500;
const WARN = 40;

/** @type {import('./hangs.ts').Watched} */
const { shared, headBytes, slots, slotBytes, file, secret, redacted } = workerData;
const head = new Int32Array(shared, 0, 2);
const bytes = Buffer.from(shared);

function lastCalls() {
  const calls = Atomics.load(head, 1);
  const first = Math.max(0, calls - slots);
  return Array.from({ length: calls - first }, (_, index) => {
    const start = headBytes + ((first + index) % slots) * slotBytes + 1;
    const text = bytes.toString('latin1', start, start + (bytes[start - 1] ?? 0));
    const [beganMs, address, requestId, method] = text.split(' ');
    return { began: new Date(Number(beganMs)), address, requestId, method };
  });
}

/** @param {string} line */
function write(line) {
  try {
    const fd = file === undefined ? 1 : openSync(file, 'a');
    writeSync(fd, line);
    if (file !== undefined) closeSync(fd);
  } catch {
    // the disk is full
  }
}

for (;;) {
  const beats = Atomics.load(head, 0);
  // The start has no beat yet: it may take long.
  if (Atomics.wait(head, 0, beats, beats === 0 ? undefined : HANG_MS) !== 'timed-out') continue;
  const line = { level: WARN, time: new Date(), lastCalls: lastCalls(), msg: 'the event loop stands still' };
  write(`${JSON.stringify(line).replace(secret, redacted)}\n`);
  Atomics.wait(head, 0, beats);
}
