/**
 * A proxy in front of Redis that speaks its protocol, and lets one step of what is done through it fail. A step is a
 * command. An error is Redis's own, raised in the place of the command.
 */
import { randomUUID } from 'node:crypto';
import { openProxy } from '../support/machine/tcp-proxy.ts';
import type { Scope } from '../support/scope.ts';
import { newSteps } from './steps.ts';

const ERRORS = [
  ...['OOM', 'READONLY', 'LOADING', 'CLUSTERDOWN', 'MASTERDOWN', 'TRYAGAIN', 'NOSCRIPT', 'NOPERM', 'NOAUTH', 'BUSY'],
  ...['MISCONF', 'NOREPLICAS', 'WRONGTYPE', 'ERR'],
];
/** Sent in the place of the reply. */
const REPLIES: Readonly<Record<string, string>> = {
  'replies no RESP': 'HTTP/1.1 400 Bad Request\r\n\r\n',
  'replies a bad length': '$-5\r\n',
  'replies half': '$99999\r\nabc',
  'replies arrays without an end': '*1\r\n'.repeat(1_000),
  'replies to another command': '+OK\r\n+OK\r\n',
  'replies without numbers': `*8\r\n+admitted\r\n${',nan\r\n'.repeat(7)}`,
};
/** Held, nothing is said until the client gives up: before the command is done, or after it. */
export const WAYS = [
  ...ERRORS,
  ...['closes before', 'closes after', 'holds before', 'holds after'],
  ...Object.keys(REPLIES),
];

const command = (...args: string[]) =>
  `*${args.length}\r\n${args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`).join('')}`;
const raising = (code: string) =>
  command('EVAL', 'return redis.error_reply(ARGV[1])', '0', `${code} the command fails`);

/** Cuts bytes into commands, which are arrays of bulk strings. */
function cutter() {
  let rest = '';
  return function* cut(chunk: Buffer): Generator<string> {
    rest += chunk.toString('latin1');
    for (;;) {
      let end = rest.indexOf('\r\n') + 2;
      for (let left = Number(rest.slice(1, end)); left > 0 && end >= 2; left -= 1) {
        const start = rest.indexOf('\r\n', end) + 2;
        end = start < 2 ? -1 : start + Number(rest.slice(end + 1, start)) + 2;
      }
      if (end < 2 || rest.length < end) break;
      yield rest.slice(0, end);
      rest = rest.slice(end);
    }
  };
}

/** Forwards a free port of the loopback to Redis's, until the end of the test. */
export async function openRedisProxy(t: Scope, targetPort: number) {
  const steps = newSteps();
  const proxy = await openProxy(t, targetPort, (near, far, close) => {
    /** What Redis says when the failed command is done. Before it nothing is passed on. */
    const marker = randomUUID();
    let after: string | undefined;
    let isHeld = false;
    const cut = cutter();
    near.on('data', (chunk: Buffer) => {
      for (const text of cut(chunk)) {
        const way = steps.next(text.replaceAll(/\r\n[$*]?/g, ' ').slice(0, 100));
        if (way === 'holds before') isHeld = true;
        if (isHeld || after !== undefined) continue;
        if (way === 'closes before') return void close();
        const isError = way !== undefined && ERRORS.includes(way);
        far.write(isError ? raising(way) : text, 'latin1');
        if (way === undefined || isError) continue;
        after = way;
        far.write(command('ECHO', marker));
      }
    });
    far.on('data', (chunk: Buffer) => {
      if (after === undefined && !isHeld) near.write(chunk);
      if (after === undefined || !chunk.includes(marker)) return;
      if (after === 'closes after') return void close();
      isHeld = after === 'holds after';
      if (!isHeld) near.write(REPLIES[after] ?? '');
      after = undefined;
    });
    return () => false;
  });
  return { ...proxy, ...steps };
}
