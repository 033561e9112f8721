/** Programs that follow the feed of events, through the ends of servers and of Envoy. */
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { readAll } from '../calls/pages.ts';
import { change } from '../machine/database.ts';
import type { Scope } from '../scope.ts';
import { until } from '../until.ts';
import { Program } from './process.ts';
import type { TestStack } from './stack.ts';

/**
 * Commands of bash that run a program without end. It writes a line for each event, `<id> <type>`, keeps the file
 * `cursor` in its folder, and goes on after that when it starts again.
 */
interface Follower {
  readonly commands: string;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Of one that writes before it follows, so that the feed is never older than its cursor: what it prints then. */
  readonly writes?: RegExp;
}

/** Commands of bash in a process group, until the end of the test: a shell does not end its program. */
export function runGroup(t: Scope, commands: string, options: Pick<Follower, 'cwd' | 'env'>) {
  const program = new Program('bash', ['-euc', commands], { ...options, detached: true });
  const kill = async () => {
    if (!program.hasEnded) process.kill(-program.pid, 'SIGKILL');
    await program.ended;
  };
  t.teardown(kill);
  return Object.assign(program, { kill });
}

/** Ends a part of the stack under the streams, and waits until calls succeed again. */
async function end({ stack, rest }: TestStack, victim: 'a server' | 'Envoy' | 'all in turn'): Promise<void> {
  const current = () => (victim === 'Envoy' ? stack.envoy : stack.servers[0])?.process;
  const before = current();
  if (victim === 'all in turn') await stack.restart();
  else before?.kill('SIGKILL');
  await until(() => current() !== before, `another process of ${victim}`);
  const isServed = () => rest.get('/categories').then(({ status }) => status === 200);
  await until(() => isServed().catch(() => false), 'a response');
}

/** Writes all the time, with whatever comes of it. */
async function write({ rest, key }: TestStack, signal: AbortSignal): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ name: 'Cats' });
  while (!signal.aborted) {
    await fetch(`${rest.url}/categories`, { method: 'POST', headers, body }).catch(() => undefined);
    await delay(20);
  }
}

async function listed({ rest }: TestStack): Promise<string[]> {
  const events = await readAll<{ id: number; type: string }>(rest, '/events');
  return events.map(({ id, type }) => `${id} ${type}`);
}

const linesOf = ({ output }: Program) => output.match(/^\d+ \w+\.\w+(?=\n)/gm) ?? [];

/**
 * Starts the program. Ends servers and Envoy under its stream while writes go on. Kills the program, and starts it
 * again. It must have dealt with each event once and in order. At last it must tell that events have expired, and that
 * the feed is older than its cursor, unless it `writes`.
 */
export async function missesNothing(
  t: ExecutionContext,
  stack: TestStack,
  { commands, writes, ...options }: Follower,
): Promise<void> {
  t.timeout(600_000, 'the service restarts several times');
  const start = () => runGroup(t, commands, options);
  const says = async (text: RegExp) => {
    const program = start();
    await program.ended;
    t.regex(program.errors, text);
  };
  const caughtUp = async (program: Program) => {
    if (writes !== undefined) await program.says(writes, 120_000);
    const events = await until(() => listed(stack).catch(() => undefined), 'the list');
    const newest = Number.parseInt(events.at(-1) ?? '', 10);
    const hasAll = async () => {
      if (program.hasEnded) throw new Error(`it has ended: ${program.errors}`);
      const cursor = await readFile(`${options.cwd}/cursor`, 'utf8').catch(() => '0');
      return Number(cursor) >= newest && Number.parseInt(linesOf(program).at(-1) ?? '', 10) >= newest;
    };
    await until(hasAll, `event ${newest}`, 120_000);
  };
  await stack.rest.category('Before the start');
  const first = start();
  await caughtUp(first);
  const over = new AbortController();
  t.teardown(() => over.abort());
  const writing = write(stack, over.signal);
  // One of each: several programs share a service, whose launcher gives up after five failures in a row.
  for (const victim of ['a server', 'Envoy', 'all in turn'] as const) {
    await end(stack, victim);
    await caughtUp(first);
  }
  over.abort();
  await writing;
  await caughtUp(first);
  await first.kill();
  await stack.rest.category('While it does not run');
  const second = start();
  await caughtUp(second);
  t.deepEqual([...linesOf(first), ...linesOf(second)], await listed(stack));
  await second.kill();
  for (let i = 0; i < 2; i += 1) await stack.rest.category('Soon expired');
  change(stack.config.dataDir, 'DELETE FROM events WHERE id < (SELECT max(id) FROM events)');
  await says(/EVENTS_EXPIRED|not kept any more/);
  if (writes !== undefined) return;
  change(stack.config.dataDir, 'DELETE FROM events'); // as in a backup of before
  await says(/EVENT_NOT_REACHED|has not been reached/);
}
