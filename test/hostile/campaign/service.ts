/** The services that the hostile tests attack, and the size of the attacks. */
import type { TestFn } from 'ava';
import { sharing } from '../../support/service/sharing.ts';
import { startTestStack, type TestStack } from '../../support/service/stack.ts';
import { PROBED } from './memory.ts';

/** Small in `npm test`, full in `npm run test:hostile` (scripts/hostile.ts). */
const { HOSTILE_SEED, HOSTILE_COUNT } = process.env;
export const isFull = HOSTILE_COUNT !== undefined;
export const SEED = Number(HOSTILE_SEED ?? 1);
export const INPUTS = Number(HOSTILE_COUNT ?? 2_000);

/** Why nothing can be attacked here; undefined when it can. */
export const hostileMissing =
  process.platform === 'linux' ? undefined : 'the hostile tests need Linux: its /proc, and all of 127.0.0.0/8';

/** Settings of a service under attack: the defaults, apart from the limits of callers with a key. */
export const AS_DEPLOYED = {
  ...PROBED,
  LOG_LEVEL: 'info',
  ADDRESS_PER_MINUTE: '60',
  ADDRESS_BURST: '120',
  ADDRESS_PER_SECOND: '20',
} as const;

export function hostileTest(settings: Readonly<Record<string, string>> = {}): TestFn<TestStack> {
  return sharing(hostileMissing, (t) => startTestStack(t, settings));
}

/** Fills the store with the largest list: about 600 KB. */
export async function storeLargestList({ rest }: TestStack): Promise<void> {
  const description = '猫'.repeat(2_000);
  for (let i = 1; i <= 100; i += 1) await rest.post('/categories', { name: `Category ${i}`, description });
}
