/** Random readers from a fixed seed. `npm run test:hostile -- --only Readers` reads for longer. */
import type { TestFn } from 'ava';
import { PROBED } from '../support/hostile/probe.ts';
import { runReaders } from '../support/hostile/readers.ts';
import { hostileMissing } from '../support/hostile/resources.ts';
import { isFull, READING_MS, SEED } from '../support/hostile/size.ts';
import { testUnless } from '../support/programs.ts';
import { startTestStack } from '../support/stack.ts';

const test: TestFn = testUnless(hostileMissing);

/** The most that a request lasts, and its longest deadline. */
const MAX_REQUEST_MS = isFull ? 20_000 : 4_000;

test(`Readers - whatever seed ${SEED} reads, stops and resets, the server goes on and keeps nothing`, async (t) => {
  t.timeout(READING_MS + 240_000);
  const stack = await startTestStack(PROBED);
  t.teardown(() => stack.close());
  const { outcomes, breaches } = await runReaders(stack, SEED, READING_MS, MAX_REQUEST_MS);
  t.log(JSON.stringify(outcomes));
  t.deepEqual(breaches, []);
});
