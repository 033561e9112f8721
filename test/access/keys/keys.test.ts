import { readFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import test from 'ava';
import { createApiKeyCache } from '../../../src/platform/access/keys/api-key-cache.ts';
import { bearerToken, generateKey, hashKey, isWellFormed } from '../../../src/platform/access/keys/format.ts';
import type { Account, ApiKey } from '../../../src/platform/access/tables/accounts.ts';
import { readConfig } from '../../../src/platform/config/config.ts';
import { authentication } from '../../../src/platform/interceptors/authentication.ts';
import { toAccountId, toKeyId } from '../../../src/platform/rpc/caller.ts';
import { newCall } from '../../support/service/call.ts';

const PLANS = readConfig({}).limits.plans;

const none = undefined;
const ACCOUNT: Account = {
  ...{ id: toAccountId(7n), name: 'Test', plan: 'free', agreed: none, isSuspended: false, createdAtMs: 0 },
};
const KEY: ApiKey = {
  ...{ id: toKeyId(3n), accountId: ACCOUNT.id, prefix: '', label: none, permission: 'write', createdAtMs: 0 },
  ...{ expiresAtMs: none, revokedAtMs: none, replaces: none, replacedBy: none },
};

/** A cache with its own clock over one stored key. Counts look-ups, and can block them after they have read. */
function setUp(stored: { key?: Partial<ApiKey>; account?: Partial<Account>; hasEvery?: boolean } = {}) {
  const secret = generateKey();
  const state = { nowMs: 1_000_000, monotonicMs: 5_000, lookUps: 0, held: undefined as Promise<void> | undefined };
  const database = { account: { ...ACCOUNT, ...stored.account }, key: { ...KEY, ...stored.key } };
  const change = (fields: { key?: Partial<ApiKey>; account?: Partial<Account> }) => {
    database.account = { ...database.account, ...fields.account };
    database.key = { ...database.key, ...fields.key };
  };
  const accounts = {
    async findKey(hash: Buffer) {
      state.lookUps += 1;
      const read = stored.hasEvery || hash.equals(hashKey(secret)) ? { ...database } : undefined;
      await state.held;
      return read;
    },
  };
  const pass = (ms: number) => {
    state.nowMs += ms;
    state.monotonicMs += ms;
  };
  /** Blocks all look-ups that begin from now on, until the returned function is called. */
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    state.held = promise;
    return () => {
      state.held = undefined;
      resolve();
    };
  };
  const clock = { nowMs: () => state.nowMs, monotonicMs: () => state.monotonicMs };
  return { secret, state, change, pass, hold, cache: createApiKeyCache(accounts, PLANS, clock) };
}

type Cached = ReturnType<typeof setUp>;

test('API key cache - a known key is identified without the database', async (t) => {
  const { cache, secret, state, pass } = setUp();
  const many = () => Promise.all(Array.from({ length: 500 }, async () => cache.identify(secret)));
  for (const lookUps of [1, 2]) {
    const expected = { keyId: 3n, accountId: 7n, permission: 'write', plan: 'free', quota: PLANS.free };
    for (const identity of await many()) t.deepEqual(identity, expected);
    for (let i = 0; i < 100; i += 1) t.false(cache.identify(secret) instanceof Promise);
    t.is(state.lookUps, lookUps, 'requests share one, of a new key and of a stale one');
    pass(5_000);
  }
});

test('API key cache - a mistyped key fails without a look-up', async (t) => {
  const { cache, secret, state } = setUp();
  const typo = secret.slice(0, 10) + (secret[10] === 'A' ? 'B' : 'A') + secret.slice(11);
  t.is(await cache.identify(typo), undefined);
  t.is(state.lookUps, 0);
  t.is(await cache.identify(generateKey()), undefined);
  t.deepEqual([state.lookUps, cache.size], [1, 0], 'one that does not exist gets no entry: it evicts no valid key');
});

test('API key cache - changes by other processes take effect within 5 seconds', async (t) => {
  const { cache, secret, change, pass, state } = setUp();
  await cache.identify(secret);
  change({ account: { plan: 'pro' } });
  pass(5_000);
  t.like(await cache.identify(secret), { quota: PLANS.pro });
  state.nowMs -= 3_600_000; // a clock that is set back hides no change
  change({ key: { revokedAtMs: 1 } });
  pass(5_000);
  t.is(await cache.identify(secret), undefined);
});

test('API key cache - the age of an entry counts from the start of its look-up, however slow', async (t) => {
  const { cache, secret, change, pass, hold, state } = setUp();
  const release = hold();
  const slow = cache.identify(secret);
  await turn(); // the look-up has read
  change({ key: { revokedAtMs: 1 } });
  pass(3_900);
  release();
  t.truthy(await slow);
  t.truthy(await cache.identify(secret), '3.9 s after the revocation');
  pass(1_000);
  t.is(await cache.identify(secret), undefined, '4.9 s after the revocation');
  t.is(state.lookUps, 2);
});

test('API key cache - a failed look-up fails all requests that share it, and the next one tries again', async (t) => {
  const { cache, secret, state, pass } = setUp();
  await cache.identify(secret);
  pass(5_000);
  state.held = Promise.reject(new Error('the database is unavailable'));
  const failed = [1, 2, 3].map(async () => cache.identify(secret));
  for (const one of failed) await t.throwsAsync(one, { message: 'the database is unavailable' });
  state.held = undefined;
  t.truthy(await cache.identify(secret));
  t.is(state.lookUps, 3);
});

for (const [when, pass] of [
  ['after a change in this process', ({ cache }: Cached) => cache.invalidate()],
  ['5 seconds after a change in another', ({ pass }: Cached) => pass(5_000)],
] as const) {
  test(`API key cache - requests ${when} wait for a look-up that begins after it`, async (t) => {
    const cached = setUp();
    const { cache, secret, change, hold, state } = cached;
    const release = hold();
    const early = cache.identify(secret);
    await turn(); // the look-up has read
    change({ key: { revokedAtMs: 1 } });
    pass(cached);
    const late = [cache.identify(secret), cache.identify(secret)];
    release();
    t.truthy(await early); // it came before the change
    t.deepEqual(await Promise.all(late), [undefined, undefined]);
    t.is(state.lookUps, 2, 'one look-up for all waiting requests');
  });
}

test('API key cache - a key is refused from the moment it expires, cached or not', async (t) => {
  const { cache, secret, state } = setUp({ key: { expiresAtMs: 1_002_000 } });
  t.truthy(await cache.identify(secret));
  state.nowMs = 1_001_999;
  t.truthy(await cache.identify(secret));
  state.nowMs = 1_002_000;
  t.is(await cache.identify(secret), undefined);
  cache.invalidate();
  t.is(await cache.identify(secret), undefined);
});

test('API key cache - only a key that is not known is checked before its look-up', async (t) => {
  const { cache, secret, change, pass } = setUp();
  let checks = 0;
  const identify = () =>
    cache.identify(secret, async () => {
      checks += 1;
    });
  await identify();
  t.is(checks, 1);
  pass(5_000);
  t.truthy(await identify());
  t.is(checks, 1, 'a known key is looked up again without it');
  change({ key: { revokedAtMs: 1 } });
  pass(5_000);
  t.is(await identify(), undefined);
  await identify();
  t.is(checks, 2, 'a revoked key is not known any more');
});

test('API key cache - who may not look up a key is refused alone: the look-up of another is his own', async (t) => {
  const { cache, secret, state } = setUp();
  let checks = 0;
  const check = (isAllowed: boolean) => async () => {
    checks += 1;
    await turn();
    if (!isAllowed) throw new Error('guessed too often');
  };
  const refused = cache.identify(secret, check(false));
  const others = Array.from({ length: 20 }, async () => cache.identify(secret, check(true)));
  await t.throwsAsync(async () => refused, { message: 'guessed too often' });
  for (const identity of await Promise.all(others)) t.like(identity, { keyId: 3n });
  t.deepEqual([checks, state.lookUps], [21, 1], 'these share one');
});

test('API key cache - those that wait for a refused look-up are refused together, not one by one', async (t) => {
  const { cache, state } = setUp();
  const refuse = async () => {
    await turn();
    throw new Error('guessed too often');
  };
  let refused = 0;
  const invented = generateKey();
  for (let count = 0; count < 2_000; count += 1)
    void Promise.resolve(cache.identify(invented, refuse)).catch(() => (refused += 1));
  for (let turns = 0; turns < 5; turns += 1) await turn();
  t.deepEqual([refused, state.lookUps], [2_000, 0]);
});

test('API key cache - has at most 10,000 entries', async (t) => {
  const { cache } = setUp({ hasEvery: true });
  for (let count = 0; count < 10_010; count += 1) await cache.identify(generateKey());
  t.is(cache.size, 10_000);
});

test('Authentication - during a look-up a call holds a share of its address, and shows its numbers', async (t) => {
  const { cache, secret, state } = setUp();
  const events: string[] = [];
  const interceptor = authentication(cache, {
    countForAddress: async () => undefined,
    checkGuesses: async () => void events.push('checked'),
    holdForAddress: async () => {
      events.push('held');
      return () => void events.push('released');
    },
    show: async () => void events.push('shown'),
  });
  const metadata = { authorization: `Bearer ${secret}` };
  const call = newCall('/apiplatform.admin.v1.AdminService/ListKeys', { metadata });
  await interceptor.check(call);
  t.is(state.lookUps, 1);
  t.deepEqual(events.toSorted(), ['checked', 'held', 'released', 'shown']);
});

test('Authorization - has the same key to the server and to Envoy', (t) => {
  const lines = readFileSync('envoy/test/authorization.txt', 'utf8').matchAll(/^([^#\s]\S*) \[(.*)\]$/gm);
  for (const [, key = '', header = ''] of lines)
    t.is(bearerToken(header) ?? '-', key, `${header}: envoy/keys.lua differs`);
});

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

test('Key - is pst_, 32 random characters and 6 of checksum', (t) => {
  const keys = Array.from({ length: 10_000 }, () => generateKey());
  for (const generated of keys) {
    t.regex(generated, /^pst_[0-9A-Za-z]{38}$/);
    const value = [...generated.slice(36)].reduce((sum, digit) => sum * 62 + ALPHABET.indexOf(digit), 0);
    t.is(value, crc32(generated.slice(0, 36)), 'the CRC-32 of everything before it, in base62');
    t.true(isWellFormed(generated));
  }
  t.is(new Set(keys).size, keys.length);
});

test('Key - every character of the alphabet is equally likely', (t) => {
  const counts = new Map<string, number>();
  const keys = 3_000;
  for (let i = 0; i < keys; i += 1) {
    for (const character of generateKey().slice(4, 36)) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  const expected = (keys * 32) / 62;
  const chiSquare = [...ALPHABET].reduce((sum, one) => sum + ((counts.get(one) ?? 0) - expected) ** 2 / expected, 0);
  // 61 degrees of freedom: above 160 once in 10^10 runs. Bytes modulo 62 would come to about 600.
  t.true(chiSquare < 160, `chi-square is ${chiSquare}`);
});

test('Well-formed - rejects every change of one character, swapped neighbours, and other texts', (t) => {
  const generated = generateKey();
  const changes = Array.from(generated, (_, at) => {
    const [before, after] = [generated.slice(0, at), generated.slice(at)];
    const others = Array.from(`${ALPHABET}-_é`, (character) => before + character + after.slice(1));
    return [...others, before + after.slice(1, 2) + after.slice(0, 1) + after.slice(2)];
  }).flat();
  const texts = ['', 'pst_', generated.slice(1), generated.slice(0, -1), `${generated}0`, ` ${generated}`];
  texts.push(`${generated}\n`, generated.toUpperCase());
  const accepted = [...changes, ...texts].filter((text) => text !== generated && isWellFormed(text));
  t.deepEqual(accepted, []);
});
