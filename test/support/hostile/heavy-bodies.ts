/** Bodies that are expensive to parse, again and again, from a caller without a key. */
import { type Attack, forEachConnection } from './attack.ts';
import { HEAVY_BODIES } from './body-cost.ts';
import { Http1Connection } from './http1-connection.ts';

export const heavyBodies: Attack = {
  name: 'heavy-bodies',
  title: 'POST /pets with a mebibyte of [1,1,1,…] without a key, again and again',
  full: { connections: 12, perConnection: 0 },
  short: { connections: 12, perConnection: 0 },
  holdMs: 15_000,
  async run({ target, size, tally, signal }) {
    const body = HEAVY_BODIES['a mebibyte of numbers'] ?? Buffer.alloc(0);
    const head = 'POST /pets HTTP/1.1\r\nHost: petstore\r\nContent-Type: application/json\r\n';
    const request = Buffer.concat([Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n`), body]);
    await forEachConnection(size, async () => {
      const connection = new Http1Connection(target);
      signal.addEventListener('abort', () => connection.close());
      const sendOn = async () => {
        while (!signal.aborted) {
          const end = tally.start();
          const answer = await connection.exchange(request);
          if (!signal.aborted) end(typeof answer === 'string' ? answer : `${answer.status}`);
        }
      };
      void sendOn();
    });
  },
};
