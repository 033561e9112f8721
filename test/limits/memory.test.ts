/** The memory limiter: the suite of all limiters, and bounds of its memory. */

import anyTest from 'ava';
import { createMemoryLimiter, type MemoryLimiter } from '../../src/limits/memory.ts';
import { toAccountId } from '../../src/model.ts';
import { ACCOUNT, type LimitsTest, MIDNIGHT_MS, NOON_MS, OPTIONS } from './suite/setup.ts';
import { runLimitsSuite } from './suite/suite.ts';

const test = anyTest as LimitsTest;
runLimitsSuite(async (options) => createMemoryLimiter(options), test);

function fromAddress(limiter: MemoryLimiter, address: string, nowMs = NOON_MS) {
  return limiter.admit({ kind: 'address', address, nowMs });
}

test('Memory - a flood of addresses is bounded, and those beyond the bound share one quota', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  fromAddress(limiter, 'early');
  let admitted = 0;
  for (let i = 0; i < 100_000; i += 1) if (fromAddress(limiter, `flood ${i}`).allowed) admitted += 1;
  t.is(limiter.tracked.addresses, 1_001); // with the counter that the others share
  t.is(admitted, 999 + 60);
  t.like(fromAddress(limiter, 'early'), { allowed: true, remaining: 58 });
});

test('Memory - a flood of addresses ends with its minute', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  for (let i = 0; i < 100_000; i += 1) fromAddress(limiter, `flood ${i}`);
  t.like(fromAddress(limiter, 'newcomer', NOON_MS + 60_000), { allowed: true, remaining: 59 });
  t.is(limiter.tracked.addresses, 1);
});

test('Memory - a flood of addresses does not affect an account', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  limiter.admit(ACCOUNT);
  for (let i = 0; i < 100_000; i += 1) fromAddress(limiter, `flood ${i}`);
  t.like(limiter.admit(ACCOUNT), { allowed: true, remaining: 58 });
});

test('Memory - the accounts of a day are dropped when the next begins', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  for (let i = 0; i < 1_000; i += 1) limiter.admit({ ...ACCOUNT, accountId: toAccountId(BigInt(i)) });
  t.is(limiter.tracked.accounts, 1_000);
  limiter.admit({ ...ACCOUNT, nowMs: MIDNIGHT_MS });
  t.is(limiter.tracked.accounts, 1);
});

test('Memory - reading counts nothing and takes no memory', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  t.like(limiter.peek(ACCOUNT), { allowed: true, limit: 60, remaining: 60 });
  t.like(limiter.peek({ kind: 'address', address: '192.0.2.1', nowMs: NOON_MS }), {
    allowed: true,
    remaining: 60,
  });
  t.deepEqual(limiter.tracked, { accounts: 0, addresses: 0, keys: 0 });
  t.deepEqual(limiter.drain().usage, []);

  limiter.admit(ACCOUNT);
  t.like(limiter.peek(ACCOUNT), { remaining: 59 });
  t.like(limiter.admit(ACCOUNT), { remaining: 58 });
});
