import test from 'ava';
import { generateKey, hashKey } from '../../src/keys/format.ts';
import { createKeyRing } from '../../src/keys/key-ring.ts';
import type { Account, ApiKey, Plan } from '../../src/model.ts';

const PLANS = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
};

/** Limits that let every look-up pass. */
const allowed = async () => undefined;

/** A key ring on a clock of its own over one stored key, which counts its look-ups. */
function setUp(stored: { key?: Partial<ApiKey>; account?: Partial<Account> } = {}) {
  const secret = generateKey();
  const state = { nowMs: 1_000_000, lookUps: 0 };
  const account: Account = {
    id: 7n,
    name: 'Test',
    plan: 'free',
    agreed: undefined,
    isSuspended: false,
    createdAtMs: 0,
    ...stored.account,
  };
  const key: ApiKey = {
    id: 3n,
    accountId: 7n,
    prefix: '',
    label: undefined,
    createdAtMs: 0,
    expiresAtMs: undefined,
    revokedAtMs: undefined,
    ...stored.key,
  };
  const found = { key, account };
  const accounts = {
    async findKey(hash: Buffer) {
      state.lookUps += 1;
      return hash.equals(hashKey(secret)) ? found : undefined;
    },
  };
  return { secret, state, found, ring: createKeyRing(accounts, PLANS, () => state.nowMs) };
}

test('key ring - a known key is identified without the database', async (t) => {
  const { ring, secret, state } = setUp();
  t.deepEqual(await ring.identify(secret, allowed), { keyId: 3n, accountId: 7n, quota: PLANS.free });
  for (let i = 0; i < 100; i += 1) t.false(ring.identify(secret, allowed) instanceof Promise);
  t.is(state.lookUps, 1);
});

test('key ring - a mistyped key fails without a look-up', async (t) => {
  const { ring, secret, state } = setUp();
  const typo = secret.slice(0, 10) + (secret[10] === 'A' ? 'B' : 'A') + secret.slice(11);
  t.is(await ring.identify(typo, allowed), undefined);
  t.is(state.lookUps, 0);
});

test('key ring - a well-formed key that nobody has is not valid', async (t) => {
  t.is(await setUp().ring.identify(generateKey(), allowed), undefined);
});

test('key ring - a key is looked up anew within 5 seconds, so a change elsewhere is noticed', async (t) => {
  const { ring, secret, state, found } = setUp();
  await ring.identify(secret, allowed);
  Object.assign(found, { account: { ...found.account, plan: 'pro' } });
  state.nowMs += 5_000;
  t.deepEqual((await ring.identify(secret, allowed))?.quota, PLANS.pro);
  Object.assign(found, { key: { ...found.key, revokedAtMs: state.nowMs } });
  state.nowMs += 5_000;
  t.is(await ring.identify(secret, allowed), undefined);
});

test('key ring - after forget a change is noticed at once', async (t) => {
  const { ring, secret, found } = setUp();
  await ring.identify(secret, allowed);
  Object.assign(found, { account: { ...found.account, isSuspended: true } });
  ring.forget();
  t.is(await ring.identify(secret, allowed), undefined);
});

test('key ring - what was looked up before a change is not remembered after it', async (t) => {
  const { ring, secret, found, state } = setUp();
  const under = ring.identify(secret, allowed);
  Object.assign(found, { key: { ...found.key, revokedAtMs: 1 } });
  ring.forget(); // while the look-up is under way
  await under;
  t.is(await ring.identify(secret, allowed), undefined);
  t.is(state.lookUps, 2);
});

test('key ring - a key is refused from the moment it expires, cached or not', async (t) => {
  const { ring, secret, state } = setUp({ key: { expiresAtMs: 1_002_000 } });
  t.truthy(await ring.identify(secret, allowed));
  state.nowMs = 1_001_999;
  t.truthy(await ring.identify(secret, allowed));
  state.nowMs = 1_002_000;
  t.is(await ring.identify(secret, allowed), undefined);
  ring.forget();
  t.is(await ring.identify(secret, allowed), undefined);
});

test('key ring - each plan has its quota, an enterprise account the agreed one', async (t) => {
  for (const plan of ['free', 'pro', 'business'] as const satisfies Plan[]) {
    const { ring, secret } = setUp({ account: { plan } });
    t.deepEqual((await ring.identify(secret, allowed))?.quota, PLANS[plan]);
  }
  const agreed = { perMinute: 5, perDay: 6 };
  const { ring, secret } = setUp({ account: { plan: 'enterprise', agreed } });
  t.deepEqual((await ring.identify(secret, allowed))?.quota, agreed);
});

test('key ring - a key that was never seen to be valid is looked up only if the limits of its caller allow it', async (t) => {
  const { ring, secret, state } = setUp();
  const refused = () => Promise.reject(new Error('past the limit'));
  await t.throwsAsync(async () => ring.identify(secret, refused), { message: 'past the limit' });
  t.is(state.lookUps, 0);
  await ring.identify(secret, allowed);
  state.nowMs += 5_000;
  t.truthy(await ring.identify(secret, refused)); // stale, but known: its owner must not suffer from a neighbour
  ring.forget();
  t.truthy(await ring.identify(secret, refused));
  t.is(state.lookUps, 3);
});
