/** The services that the hostile tests attack. */
import type { TestFn } from 'ava';
import { testUnless } from '../../support/machine/programs.ts';
import { stackTest } from '../../support/service/shared-stack.ts';
import type { TestStack } from '../../support/service/stack.ts';
import { PROBED } from './probe.ts';

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

/** AVA's `test` for a file whose tests attack one service with these settings. */
export function hostileTest(settings: Readonly<Record<string, string>> = {}): TestFn<TestStack> {
  return hostileMissing === undefined ? stackTest(settings) : testUnless(hostileMissing);
}

/** Fills the store with the largest list: about 600 KB. */
export async function storeLargestList({ rest }: TestStack): Promise<void> {
  const description = '猫'.repeat(2_000);
  for (let i = 1; i <= 100; i += 1) await rest.post('/categories', { name: `Category ${i}`, description });
}
