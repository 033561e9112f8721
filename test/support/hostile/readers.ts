/**
 * Random readers: connections that request, read, stop and leave as their seed says. Afterwards the same processes run,
 * nothing is open, nothing has grown, and every response that was completed is well-formed.
 *
 * A seed decides what each reader does, one connection after the other, but not the times at which the service answers.
 */
import { readFile } from 'node:fs/promises';
import { Random } from '../chaos/random.ts';
import type { TestStack } from '../stack.ts';
import { until } from '../until.ts';
import { type Answer, Findings, faultOf } from './answers.ts';
import { Http1Connection } from './http1-connection.ts';
import { exchange } from './http2.ts';
import { leftOpen, usedBytes } from './probe.ts';
import { type Connection, isPolite, nextConnection, type Plan, storeLargestList } from './reader-plans.ts';
import { MIB, mib, pidsOf, rssBytes } from './resources.ts';
import { openSession, type Target, targetOf } from './sockets.ts';

const READERS = 16;
/** The share of the time that warms the service up. */
const WARM_SHARE = 0.3;
const MAX_KEPT_BYTES = 8 * MIB;
const MAX_ENVOY_GROWTH = 64 * MIB;
const MIN_POLITE_SHARE = 0.99;
/** How long half a request may stay open. */
const CLOSE_MS = 45_000;
const ORDINARY_WINDOW = 65_535;

/** A response, or why there is no complete one. */
type Received = Answer | string;

/** Runs the requests of a connection, and tells how each has ended. */
async function read(
  target: Target,
  key: string,
  { window, opensAfterMs, dropsAfterMs, plans }: Connection,
  took: (plan: Plan, received: Received) => void,
): Promise<void> {
  const [first] = plans;
  if (first?.protocol === 'HTTP/1.1') {
    const giveUpMs = Math.min(first.giveUpMs, dropsAfterMs ?? first.giveUpMs);
    const connection = new Http1Connection(target);
    took(first, await connection.exchange(toHttp1(first, key), { giveUpMs }).finally(() => connection.close()));
    return;
  }
  const session = await openSession(target, 0, { initialWindowSize: window }).catch(() => undefined);
  if (session === undefined) {
    for (const plan of plans) took(plan, 'refused');
    return;
  }
  const timers = [
    setTimeout(() => session.destroyed || session.settings({ initialWindowSize: ORDINARY_WINDOW }), opensAfterMs),
    ...(dropsAfterMs === undefined ? [] : [setTimeout(() => session.destroy(), dropsAfterMs)]),
  ];
  const send = async (plan: Plan) => {
    if (session.destroyed || session.closed) return took(plan, 'closed');
    const { method, path, body, sentShare } = plan;
    const bytes = body === undefined ? undefined : Buffer.from(body, 'latin1');
    const sent = bytes?.subarray(0, Math.ceil(sentShare * bytes.length));
    const headers = { ':method': method, ':path': path, ...withKey(plan, key) };
    const answer = await exchange(session, headers, { ...plan, body: sent, isEnded: sentShare === 1 });
    const { status = 0, outcome } = answer;
    took(plan, outcome === 'answered' ? { ...answer, status } : outcome);
  };
  await Promise.all(plans.map(send));
  for (const timer of timers) clearTimeout(timer);
  session.destroy();
}

function toHttp1(plan: Plan, key: string): Buffer {
  const { method, path, body = '', sentShare } = plan;
  const own = { host: 'petstore', ...withKey(plan, key), 'content-length': `${body.length}` };
  const lines = Object.entries(own).map(([name, value]) => `${name}: ${value}\r\n`);
  const request = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`, 'latin1');
  return request.subarray(0, Math.ceil(sentShare * request.length));
}

function withKey({ headers, hasKey }: Plan, key: string): Readonly<Record<string, string>> {
  return hasKey ? { ...headers, authorization: `Bearer ${key}` } : headers;
}

/** Readers whose requests last `maxRequestMs` at most. Resolves with what was wrong, and with outcomes by number. */
export async function runReaders(stack: TestStack, seed: number, lastsMs: number, maxRequestMs: number) {
  await storeLargestList(stack);
  const findings = new Findings();
  const polite = { all: 0, answered: 0 };
  const random = new Random(seed);
  const readers = Array.from({ length: READERS }, () => random.fork());
  const readOn = async (own: Random, endsAtMs: number) => {
    while (performance.now() < endsAtMs) {
      const connection = nextConnection(own, maxRequestMs);
      await read(
        targetOf(stack.publicAddress, `127.0.5.${own.int(1, 250)}`),
        stack.key,
        connection,
        (plan, received) => {
          const isAnswer = typeof received !== 'string';
          const fault = isAnswer ? faultOf({ ...plan, mayShed: true }, received) : undefined;
          findings.add(`${plan.protocol} ${isAnswer ? received.status : received}`, fault, plan);
          if (!isPolite(connection, plan, maxRequestMs)) return;
          polite.all += 1;
          if (isAnswer) polite.answered += 1;
        },
      );
    }
  };
  const readFor = (ms: number) => Promise.all(readers.map((own) => readOn(own, performance.now() + ms)));
  await readFor(lastsMs * WARM_SHARE);
  await leftOpen(stack, CLOSE_MS);
  const before = await stateOf(stack);
  await readFor(lastsMs * (1 - WARM_SHARE));
  const left = await leftOpen(stack, CLOSE_MS);
  const said = await lastWords(stack);
  await until(() => stack.stack.servers[0]?.isRunning, 'a server').catch(() => undefined);
  const after = await stateOf(stack);
  const [envoyGrowth, growth] = [after.envoyBytes - before.envoyBytes, after.usedBytes - before.usedBytes];
  const { all, answered } = polite;
  const breaches = [
    ...findings.faults,
    ...said,
    (answered < MIN_POLITE_SHARE * all || all === 0) && `only ${answered} of ${all} polite readers had a response`,
    left !== undefined && `still open: ${left}`,
    after.envoy !== before.envoy && 'Envoy ended',
    after.server !== before.server && 'the server ended',
    envoyGrowth > MAX_ENVOY_GROWTH && `Envoy grew by ${mib(envoyGrowth)}`,
    growth > MAX_KEPT_BYTES && `the server kept ${mib(growth)}`,
  ].filter((breach) => typeof breach === 'string');
  return { outcomes: findings.outcomes, breaches };
}

/** Why servers have ended, from their logs. */
async function lastWords({ stack }: TestStack): Promise<string[]> {
  const logs = await Promise.all(stack.servers.map(({ log }) => readFile(log.path, 'utf8')));
  return logs.flatMap((log) => log.match(/^petstore: .*/gm) ?? []).map((line) => `a server ended: ${line}`);
}

async function stateOf(stack: TestStack) {
  const { envoy, server } = pidsOf(stack);
  return { envoy, server, usedBytes: await usedBytes(stack), envoyBytes: rssBytes(envoy) };
}
