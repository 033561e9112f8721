/** Bodies that are begun and never finished. */
import { setTimeout as delay } from 'node:timers/promises';
import { generateKey } from '../../../src/access/keys/format.ts';
import { type Attack, type AttackContext, forEachConnection } from './attack.ts';
import { openSocket } from './sockets.ts';
import type { Tally } from './tally.ts';

/** How much is sent of a body of 1 MiB. */
const SENT_BYTES = 60_000;
const CHUNK = Buffer.from(`[${'1,'.repeat(SENT_BYTES / 2)}`);
/** A byte now and then keeps the connection alive. */
const DRIP_MS = 1_000;

export const endlessBodies: Attack = {
  name: 'endless-bodies',
  title: 'POST /pets with a body of 1 MiB of which 60 kB come, and then a byte a second',
  full: { connections: 1_100, perConnection: 1 },
  short: { connections: 300, perConnection: 1 },
  holdMs: 15_000,
  run: openBodies,
};

async function openBodies({ target, size, tally, signal }: AttackContext): Promise<void> {
  await forEachConnection(size, async (index) => {
    const socket = openSocket(target, index);
    const isChunked = index % 2 === 1;
    // Half of them have a key that looks real without a look-up.
    const key = index % 4 < 2 ? `Authorization: Bearer ${generateKey()}\r\n` : '';
    const length = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${2 ** 20}`;
    const head = `POST /pets HTTP/1.1\r\nHost: petstore\r\nContent-Type: application/json\r\n${key}${length}\r\n\r\n`;
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('close', () => resolve(false));
    });
    if (!isOpen) return tally.add('refused connection', 0);
    signal.addEventListener('abort', () => socket.destroy());
    watchAnswer(socket, tally, signal);
    socket.write(head);
    socket.write(isChunked ? asChunk(CHUNK) : CHUNK);
    void drip(socket, isChunked, signal);
    await delay(0);
  });
}

function watchAnswer(socket: ReturnType<typeof openSocket>, tally: Tally, signal: AbortSignal): void {
  const end = tally.start();
  socket.once('data', (answer: Buffer) => end(answer.toString('latin1').split(' ', 2)[1] ?? 'nonsense'));
  socket.once('close', () => signal.aborted || end('closed'));
}

async function drip(socket: ReturnType<typeof openSocket>, isChunked: boolean, signal: AbortSignal): Promise<void> {
  const byte = Buffer.from(' ');
  while (!socket.closed && !signal.aborted) {
    await delay(DRIP_MS, undefined, { ref: false });
    if (socket.writable) socket.write(isChunked ? asChunk(byte) : byte);
  }
}

function asChunk(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}
