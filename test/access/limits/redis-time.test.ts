/** While Redis is available its clock counts: no server's clock can freeze a limit, or count usage on another day. */
import type { ExecutionContext } from 'ava';
import { restoreLimits } from '../../../src/access/limits/usage-recorder.ts';
import { createTestStore } from '../../support/database.ts';
import { withinOneDay } from '../../support/limit-windows.ts';
import { LONG_TIMEOUT, type OutageContext, test } from './suite/redis-outage.ts';
import { ACCOUNT } from './suite/setup.ts';

const HOUR_MS = 3_600_000;
const OWN_TIME = { ...LONG_TIMEOUT, time: 'redis' } as const;
const BY_DAY = { ...ACCOUNT, quota: { perMinute: 1_000_000, perDay: 50 } };

test.beforeEach(() => withinOneDay(60_000));

test('Redis’s time - servers with clocks an hour or a day off share one limit, and Retry-After is right', async (t) => {
  const servers = [await t.context.open(OWN_TIME), await t.context.open(OWN_TIME), await t.context.open(OWN_TIME)];
  const [seconds] = (await t.context.redis.command('TIME')) as [string];
  const startMs = Number(seconds) * 1_000;
  const endMs = (Math.floor(startMs / 86_400_000) + 1) * 86_400_000;
  let passed = 0;
  for (let i = 0; i < 60; i += 1) {
    const wrongByMs = [0, HOUR_MS, -HOUR_MS, 24 * HOUR_MS, -24 * HOUR_MS][i % 5] ?? 0;
    const decision = await servers[i % 3]?.admit({ ...BY_DAY, nowMs: Date.now() + wrongByMs });
    if (decision?.allowed) passed += 1;
    if (decision === undefined || decision.allowed) continue;
    t.is(decision.resetAtSeconds, endMs / 1_000);
    const leftSeconds = (endMs - startMs) / 1_000;
    t.true(decision.retryAfterSeconds <= leftSeconds && decision.retryAfterSeconds > leftSeconds - 60);
  }
  t.is(passed, 50);
  for (const server of servers) t.is(server.drain().usage[0]?.dayIndex, Math.floor(startMs / 86_400_000));
});

/** Stores a ban of a new key. Resolves with the store and the key. */
async function storeBan(t: ExecutionContext<OutageContext>, untilMs: number, durationMs: number) {
  const store = await createTestStore();
  t.teardown(() => store.close());
  const account = { name: 'Shop', plan: 'free', agreed: undefined, createdAtMs: 0 } as const;
  const { id } = await store.write((tx) => tx.accounts.insert(account));
  const described = { prefix: '', label: undefined, createdAtMs: 0, expiresAtMs: undefined };
  const key = await store.write((tx) => tx.keys.insert({ accountId: id, ...described }, Buffer.alloc(32)));
  const ban = { keyId: key.id, untilMs, durationMs, refusals: 20, window: 'minute' } as const;
  await store.write(({ bans }) => bans.put([ban]));
  return { store, keyId: key.id };
}

test('Redis’s time - a ban stored by a clock that was a day ahead is ignored', async (t) => {
  const nowMs = Date.now();
  const { store, keyId } = await storeBan(t, nowMs + 24 * HOUR_MS, nowMs + 24 * HOUR_MS);
  const limiter = await t.context.open(OWN_TIME);
  await restoreLimits(store, limiter);
  t.true((await limiter.admit({ ...BY_DAY, keyId, nowMs })).allowed);
});

test('Redis’s time - a server whose clock is a day ahead restores the bans in force', async (t) => {
  const { now } = Date;
  const { store, keyId } = await storeBan(t, now() + 60_000, 60_000);
  const limiter = await t.context.open(OWN_TIME);
  t.teardown(() => (Date.now = now));
  Date.now = () => now() + 24 * HOUR_MS;
  await restoreLimits(store, limiter);
  t.false((await limiter.admit({ ...BY_DAY, keyId, nowMs: Date.now() })).allowed);
});
