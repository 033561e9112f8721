/** The attacker's process: runs one job from the IPC channel, reports its tally, and exits on the next message. */
import { setMaxListeners } from 'node:events';
import type { Job, Told } from './attacker.ts';
import { ATTACKS } from './attacks.ts';
import { Tally } from './tally.ts';

const TELL_MS = 100;

process.once('message', (job: Job) => void run(job));
process.on('disconnect', () => process.exit());

async function run({ attack: name, target, size, key }: Job): Promise<void> {
  const attack = ATTACKS.find((candidate) => candidate.name === name);
  if (attack === undefined) throw new Error(`there is no attack ${name}`);
  const over = new AbortController();
  setMaxListeners(0, over.signal);
  const tally = new Tally();
  let hasBegun = false;
  const tell = () => process.send?.({ outcomes: tally.outcomes, hasBegun } satisfies Told);
  setInterval(tell, TELL_MS);
  process.once('message', () => {
    tell();
    over.abort();
    process.disconnect?.();
  });
  await attack.run({ target, size, tally, signal: over.signal, key });
  hasBegun = true;
  tell();
}
