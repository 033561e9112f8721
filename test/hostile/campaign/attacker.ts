/**
 * An attacker: a separate process, so that it disturbs neither the timing of the measurement nor its open files. It
 * runs this file, and ends with the process that has started it.
 */
import { fork } from 'node:child_process';
import { once, setMaxListeners } from 'node:events';
import { fileURLToPath } from 'node:url';
import { ATTACKS, type AttackContext, type Outcomes } from './attacks.ts';

const FILE = fileURLToPath(import.meta.url);
const END_MS = 5_000;
const TELL_MS = 100;

/** The first message to the process. The second one ends it. */
interface Job extends Pick<AttackContext, 'target' | 'size' | 'key'> {
  readonly promise: string;
}

/** The messages of the process. */
interface Told {
  readonly outcomes: Outcomes;
  /** Whether all has been sent. */
  readonly hasBegun: boolean;
}

export function startAttacker(job: Job) {
  const child = fork(FILE, { execArgv: [] });
  const attacker = {
    /** The outcomes of its requests so far, and whether all have been sent. */
    told: { outcomes: {}, hasBegun: false } as Told,
    /** Closes all connections. */
    async end(): Promise<Outcomes> {
      if (child.exitCode === null && child.signalCode === null) {
        const exited = once(child, 'exit');
        child.send('end', () => undefined);
        const timer = setTimeout(() => child.kill('SIGKILL'), END_MS);
        await exited;
        clearTimeout(timer);
      }
      return attacker.told.outcomes;
    },
  };
  child.on('message', (told: Told) => (attacker.told = told));
  child.on('error', () => undefined); // it has exited already
  child.send(job);
  return attacker;
}

async function run({ promise, ...job }: Job): Promise<void> {
  const over = new AbortController();
  setMaxListeners(0, over.signal);
  const outcomes: Record<string, number> = {};
  let hasBegun = false;
  const tell = () => process.send?.({ outcomes, hasBegun } satisfies Told);
  setInterval(tell, TELL_MS);
  process.once('message', () => {
    tell();
    over.abort();
    process.disconnect?.();
  });
  const count = (outcome: string) => {
    if (!over.signal.aborted) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  };
  await ATTACKS.find((attack) => attack.promise === promise)?.run({ ...job, count, signal: over.signal });
  hasBegun = true;
  tell();
}

if (process.argv[1] === FILE) {
  process.once('message', (job: Job) => void run(job));
  process.on('disconnect', () => process.exit());
}
