/** Programs of the docs that follow the feed of events, through the ends of servers and of Envoy. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { readAll } from '../calls/pages.ts';
import { change } from '../machine/database.ts';
import { until } from '../until.ts';
import { Program } from './process.ts';
import type { TestStack } from './stack.ts';

/** A program that writes a line for each event, `<id> <type>`, and goes on after its cursor when it starts again. */
export interface FollowingProgram {
  readonly lines: () => Promise<readonly string[]>;
  /** The stored id; 0 if there is none. */
  readonly cursor: () => Promise<number>;
  /** Resolves with what it has said when it has ended by itself. */
  readonly ended: () => Promise<string>;
  readonly kill: () => Promise<void>;
}

/** Runs a script of bash in a folder, where its program keeps the file `cursor`. */
export function runFollower(script: string, cwd: string, env: NodeJS.ProcessEnv): FollowingProgram {
  // A group of its own, since a tool such as `go run` does not end its program.
  const program = new Program('bash', ['-euc', script], { cwd, env, detached: true });
  return {
    lines: async () => program.output.split('\n').slice(0, -1),
    async cursor() {
      if (program.hasEnded) throw new Error(`it has ended: ${program.errors}`);
      return Number(await readFile(join(cwd, 'cursor'), 'utf8').catch(() => '0'));
    },
    ended: () => program.ended.then(() => program.errors),
    async kill() {
      const { exitCode, signalCode } = program.process;
      if (exitCode !== null || signalCode !== null) return;
      process.kill(-program.pid, 'SIGKILL');
      await program.ended;
    },
  };
}

type Victim = 'a server' | 'Envoy' | 'all in turn';

/** Ends a part of the stack under the streams, and waits until calls succeed again. */
async function end({ stack, rest }: TestStack, victim: Victim): Promise<void> {
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

/** All events, as the programs write them. */
async function listed({ rest }: TestStack): Promise<string[]> {
  const events = await readAll<{ id: number; type: string }>(rest, '/events');
  return events.map(({ id, type }) => `${id} ${type}`);
}

/**
 * Starts the program. Ends servers and Envoy under its stream while writes go on. Kills the program, and starts it
 * again. It must have dealt with each event once and in order. At last it must tell that events have expired, and that
 * the feed is older than its cursor.
 */
export async function missesNothing(
  t: ExecutionContext,
  stack: TestStack,
  run: () => FollowingProgram | Promise<FollowingProgram>,
): Promise<void> {
  t.timeout(600_000, 'it is compiled, and the service restarts several times');
  const start = async () => {
    const program = await run();
    t.teardown(program.kill);
    return program;
  };
  const caughtUp = async ({ cursor, lines }: FollowingProgram) => {
    const events = await until(() => listed(stack).catch(() => undefined), 'the list');
    const newest = Number.parseInt(events.at(-1) ?? '', 10);
    const last = async () => Number.parseInt((await lines()).at(-1) ?? '', 10);
    const hasAll = async () => (await cursor()) >= newest && (await last()) >= newest;
    await until(hasAll, `event ${newest}`, 120_000);
  };
  await stack.rest.category('Before the start');
  const first = await start();
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
  const lines = await first.lines();
  await first.kill();
  await stack.rest.category('While it does not run');
  const second = await start();
  await caughtUp(second);
  t.deepEqual([...lines, ...(await second.lines())], await listed(stack));
  await second.kill();
  for (let i = 0; i < 2; i += 1) await stack.rest.category('Soon expired');
  change(stack.config.dataDir, 'DELETE FROM events WHERE id < (SELECT max(id) FROM events)');
  t.regex(await (await start()).ended(), /EVENTS_EXPIRED|not kept any more/);
  change(stack.config.dataDir, 'DELETE FROM events'); // as in a backup of before
  t.regex(await (await start()).ended(), /EVENT_NOT_REACHED|has not been reached/);
}
