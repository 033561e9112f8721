/**
 * The first programs of the page "gRPC", taken from the page as `/docs` shows it, and made by its commands; and those
 * that follow the feed of events, through the ends of servers and of Envoy.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { description } from '../../docs/docs-page.ts';
import { readAll } from '../calls/rest-client.ts';
import { change } from '../machine/database.ts';
import { findProgram, sh } from '../machine/find-program.ts';
import { openProxy } from '../machine/tcp-proxy.ts';
import { type Scope, temporaryFolder } from '../scope.ts';
import { until } from '../until.ts';
import { Program } from './process.ts';
import { testUnless } from './sharing.ts';
import type { TestStack } from './stack.ts';

export const grpcPage = description.tags.find(({ name }) => name === 'gRPC')?.description ?? '';

/** A line that names the language and the files, each file, and the commands: the last one runs the program. */
const PROGRAM = /^(\w+)([^\n]*):\n\n((?:<details>\n.+?<\/details>\n\n)+)```bash\n(.+?)^```/gms;

/** What a program prints before it follows. */
const ORDERED = /^order \d+: 2 of Tom\norders of Tom: 1\n/m;

const PROGRAMS = new Map(
  [...grpcPage.matchAll(PROGRAM)].map(([, language = '', line = '', shown = '', commands = '']) => {
    const names = [...line.matchAll(/`([\w/]+\.\w+)`/g)].map(([, name = '']) => name);
    const texts = [...shown.matchAll(/^```\w+\n(.+?)^```/gms)].map(([, text = '']) => text);
    const [, preparation = '', command = ''] = /^(.*\n)(.+\n)$/s.exec(commands) ?? [];
    const files = new Map(names.map((name, i) => [name, texts[i] ?? '']));
    return [language, { files, preparation, command }] as const;
  }),
);

/** Tests the programs in these languages, each of which needs programs to be made. */
export function testFirstPrograms(languages: Readonly<Record<string, readonly string[]>>): void {
  for (const [language, needed] of Object.entries(languages)) {
    const missing = needed.find((name) => findProgram([name]) === undefined);
    testUnless<TestStack>(missing && `NO ${missing} FOUND for the first program in ${language}`).serial(
      `gRPC - the first program in ${language} orders once, and deals with each event once, whatever ends`,
      (t) => ordersAndFollows(t, t.context, language),
    );
  }
}

/**
 * Makes and runs a program. It must place one order though the connection breaks while the order is answered, and then
 * deal with each event once, whatever ends (`missesNothing`).
 */
async function ordersAndFollows(t: ExecutionContext, stack: TestStack, language: string): Promise<void> {
  t.timeout(1_200_000, 'packages are fetched and compiled, and the service restarts several times');
  const program = PROGRAMS.get(language);
  if (program === undefined) throw new Error(`the page has no program in ${language}`);
  const cwd = temporaryFolder(t);
  for (const [name, text] of program.files) {
    await mkdir(dirname(join(cwd, name)), { recursive: true });
    await writeFile(join(cwd, name), text);
  }
  const own = join(cwd, 'packages');
  const env = {
    ...process.env,
    API: stack.rest.url,
    API_KEY: stack.key,
    // Python's packages are installed in the folder, and Go's programs. Node is the one of these tests.
    PIP_TARGET: own,
    PYTHONPATH: own,
    PIP_ROOT_USER_ACTION: 'ignore',
    GOBIN: own,
    PATH: `${own}:${dirname(process.execPath)}:${process.env.PATH}`,
  };
  // As the page has it, pyenv writes its own folder anew afterwards, which fails when two do so at once.
  const preparation = program.preparation.replace('python3 -m pip ', 'python3 -mpip --quiet ');
  await sh('bash', ['-euo', 'pipefail', '-c', preparation], { cwd, env });
  await ordersOnce(t, stack, { commands: program.command, cwd, env });
  await missesNothing(t, stack, { commands: program.command, cwd, env, writes: ORDERED });
}

/** Runs commands that order, and says so. The response to the order is lost. */
export async function ordersOnce(
  t: ExecutionContext<unknown>,
  { rest, config }: TestStack,
  { commands, cwd, env }: { commands: string; cwd: string; env: NodeJS.ProcessEnv },
  says = ORDERED,
): Promise<void> {
  const orders = async () => (await rest.get('/store/orders?limit=100')).body.length;
  const before = await orders();
  const proxy = await openProxy(t, config.port);
  proxy.slow(1_000);
  const ordering = runGroup(t, commands, { cwd, env: { ...env, API: `http://127.0.0.1:${proxy.port}` } });
  const hasOrdered = async () => {
    if (ordering.hasEnded) throw new Error(ordering.errors);
    return (await orders()) > before;
  };
  await until(hasOrdered, 'the order, whose response takes a second more', 120_000);
  proxy.cut();
  proxy.restore();
  await ordering.says(says, 60_000);
  t.is(await orders(), before + 1);
  await ordering.kill();
  await rm(join(cwd, 'cursor'), { force: true });
}

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
function runGroup(t: Scope, commands: string, options: Pick<Follower, 'cwd' | 'env'>) {
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
