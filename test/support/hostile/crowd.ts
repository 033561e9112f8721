/** Many well-behaved callers with a key: one request at a time, and after a 503 none before Retry-After. */
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type Attack, type AttackContext, forEachConnection } from './attack.ts';

/** Callers of each address. */
const PER_ADDRESS = 50;
const TIMEOUT_MS = 30_000;

export const crowd: Attack = {
  bounds: { maxShedShare: 1 },
  name: 'crowd',
  title: 'clients with a key, each with one GET /pets under way, that honour Retry-After',
  full: { connections: 2_000, perConnection: 1 },
  short: { connections: 400, perConnection: 1 },
  holdMs: 20_000,
  async run(context) {
    await forEachConnection(
      context.size,
      async (index) => {
        void callRepeatedly(context, `127.0.1.${1 + Math.floor(index / PER_ADDRESS)}`);
        await delay(1); // callers arrive over time
      },
      4,
    );
  },
};

async function callRepeatedly({ target, tally, signal, key }: AttackContext, localAddress: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  while (!signal.aborted) {
    const end = tally.start();
    const answer = await get({ ...target, localAddress, agent, key });
    if (signal.aborted) break;
    end(typeof answer === 'string' ? answer : outcomeOf(answer));
    const waitMs = typeof answer === 'string' ? 1_000 : 1_000 * Number(answer.headers['retry-after'] ?? 0);
    if (waitMs > 0) await delay(waitMs, undefined, { signal }).catch(() => undefined);
  }
  agent.destroy();
}

function outcomeOf({ statusCode, headers }: IncomingMessage): string {
  return statusCode === 503 && headers['retry-after'] === undefined ? '503 without Retry-After' : `${statusCode}`;
}

interface Get {
  readonly host: string;
  readonly port: number;
  readonly localAddress: string;
  readonly agent: Agent;
  readonly key: string;
}

/** Resolves with the complete response, or with the reason why there is none. */
function get({ key, ...where }: Get): Promise<IncomingMessage | string> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${key}` };
    const sent = request({ ...where, path: '/pets', headers, timeout: TIMEOUT_MS }, (answer) => {
      answer.resume();
      answer.once('end', () => resolve(answer)).once('error', () => resolve('cut off'));
    });
    sent.once('timeout', () => sent.destroy());
    sent.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    sent.end();
  });
}
