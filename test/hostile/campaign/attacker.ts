/** An attacker: a thread of its own, so that it does not disturb the timing of the measurement. It runs this file. */
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { ATTACKS, type AttackContext, type Outcomes } from './attacks.ts';

const TELL_MS = 100;

interface Job extends Pick<AttackContext, 'target' | 'size' | 'key'> {
  readonly promise: string;
}

/** What the thread tells again and again. */
interface Told {
  readonly outcomes: Outcomes;
  /** Whether all has been sent. */
  readonly hasBegun: boolean;
}

export function startAttacker(job: Job) {
  const worker = new Worker(new URL(import.meta.url), { workerData: { job }, execArgv: [] });
  const attacker = {
    /** The outcomes of its requests so far, and whether all have been sent. */
    told: { outcomes: {}, hasBegun: false } as Told,
    /** Closes all connections. */
    end: () => worker.terminate(),
  };
  worker.on('message', (told: Told) => (attacker.told = told));
  return attacker;
}

async function run({ promise, ...job }: Job): Promise<void> {
  const outcomes: Record<string, number> = {};
  let hasBegun = false;
  const tell = () => parentPort?.postMessage({ outcomes, hasBegun } satisfies Told);
  setInterval(tell, TELL_MS);
  const count = (outcome: string) => {
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  };
  await ATTACKS.find((attack) => attack.promise === promise)?.run({ ...job, count });
  hasBegun = true;
  tell();
}

if (workerData?.job !== undefined) void run(workerData.job);
