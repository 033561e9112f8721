/** The attacker's process: runs one job from the IPC channel, reports its outcomes, and exits on the next message. */
import { setMaxListeners } from 'node:events';
import type { Job, Told } from './attack.ts';
import { ATTACKS } from './attacks.ts';

const TELL_MS = 100;

process.once('message', (job: Job) => void run(job));
process.on('disconnect', () => process.exit());

async function run({ attack: name, ...job }: Job): Promise<void> {
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
  await ATTACKS.find((attack) => attack.name === name)?.run({ ...job, count, signal: over.signal });
  hasBegun = true;
  tell();
}
