/** The memory limiter: the suite of all limiters, and bounds of its memory. */
import anyTest from 'ava';
import { AccountCounters } from '../../../src/access/limits/account-counters.ts';
import { AddressCounters } from '../../../src/access/limits/address-counters.ts';
import { createMemoryLimiter, type MemoryLimiter } from '../../../src/access/limits/memory.ts';
import { toAccountId } from '../../../src/rpc/caller.ts';
import { ACCOUNT, ACCOUNT_ID, KEY_ID, type LimitsTest, MIDNIGHT_MS, NOON_MS, OPTIONS } from './suite/setup.ts';
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
  t.is(admitted, 999 + 60);
  t.like(fromAddress(limiter, 'early'), { allowed: true, remaining: 58 });
});

test('Memory - a flood of addresses ends with its minute', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  for (let i = 0; i < 100_000; i += 1) fromAddress(limiter, `flood ${i}`);
  t.like(fromAddress(limiter, 'newcomer', NOON_MS + 60_000), { allowed: true, remaining: 59 });
});

test('Memory - a flood of addresses does not affect an account', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  limiter.admit(ACCOUNT);
  for (let i = 0; i < 100_000; i += 1) fromAddress(limiter, `flood ${i}`);
  t.like(limiter.admit(ACCOUNT), { allowed: true, remaining: 58 });
});

test('Memory - a flood of addresses has a bounded number of counters, until its minute ends', (t) => {
  const addresses = new AddressCounters(1_000);
  for (let i = 0; i < 100_000; i += 1) addresses.change(`flood ${i}`, NOON_MS);
  t.is(addresses.size, 1_001); // with the counter that the others share
  addresses.change('newcomer', NOON_MS + 60_000);
  t.is(addresses.size, 1);
});

test('Memory - the accounts of a day are dropped when the next begins', (t) => {
  const accounts = new AccountCounters();
  for (let i = 0; i < 1_000; i += 1) accounts.change(toAccountId(BigInt(i)), KEY_ID, NOON_MS);
  t.is(accounts.size, 1_000);
  accounts.change(ACCOUNT_ID, KEY_ID, MIDNIGHT_MS);
  t.is(accounts.size, 1);
});

test('Memory - what is read takes no memory', (t) => {
  const [accounts, addresses] = [new AccountCounters(), new AddressCounters(1)];
  accounts.find(ACCOUNT_ID, NOON_MS);
  addresses.find('192.0.2.1', NOON_MS);
  t.deepEqual([accounts.size, addresses.size], [0, 0]);
});

test('Memory - reading counts nothing', (t) => {
  const limiter = createMemoryLimiter(OPTIONS);
  t.like(limiter.peek(ACCOUNT), { allowed: true, limit: 60, remaining: 60 });
  t.like(limiter.peek({ kind: 'address', address: '192.0.2.1', nowMs: NOON_MS }), {
    allowed: true,
    remaining: 60,
  });
  t.deepEqual(limiter.drain().usage, []);

  limiter.admit(ACCOUNT);
  t.like(limiter.peek(ACCOUNT), { remaining: 59 });
  t.like(limiter.admit(ACCOUNT), { remaining: 58 });
});
