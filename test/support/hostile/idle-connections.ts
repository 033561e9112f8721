/** Connections without a request: they send nothing, the beginning of one, or only the HTTP/2 preface. */
import { type Attack, forEachConnection } from './attack.ts';
import { openSocket } from './sockets.ts';

/** RFC 9113, section 3.4, and an empty SETTINGS frame. */
const GREETING = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0', 'latin1');
const HALF_A_REQUEST = Buffer.from('GET /pets HTTP/1.1\r\nHost: ');

export const idleConnections: Attack = {
  name: 'idle-connections',
  title: 'connections that send nothing; some half a request, or the greeting of HTTP/2 alone',
  full: { connections: 29_700, perConnection: 0 },
  short: { connections: 300, perConnection: 0 },
  processes: 3,
  holdMs: 20_000,
  async run({ target, size, tally, signal }) {
    await forEachConnection(size, async (index) => {
      const socket = openSocket(target, index);
      const end = tally.start();
      signal.addEventListener('abort', () => socket.destroy());
      socket.resume(); // without it the end is not noticed
      socket.on('close', () => signal.aborted || end('closed'));
      await new Promise<void>((resolve) => socket.once('connect', resolve).once('close', resolve));
      // Most send nothing at all: those are closed last.
      if (index % 10 === 0) socket.write(HALF_A_REQUEST);
      if (index % 10 === 1) socket.write(GREETING);
    });
  },
};
