import test from 'ava';
import { authentication, operatorOnly } from '../../../src/platform/access/interceptors/authentication.ts';
import { createApiKeyCache } from '../../../src/platform/access/keys/api-key-cache.ts';
import { generateKey, hashKey } from '../../../src/platform/access/keys/format.ts';
import { type ApiError, apiError } from '../../../src/platform/errors.ts';
import { toAccountId, toKeyId } from '../../../src/platform/rpc/caller.ts';
import { handler, newCall, RESPONSE } from '../../support/service/call.ts';

const QUOTA = { perMinute: 60, perDay: 1_000 };
const PLANS = { free: QUOTA, pro: QUOTA, business: QUOTA };
const [KEY, OPERATOR_KEY] = [generateKey(), generateKey('operator')];
const ACCOUNT_ID = toAccountId(7n);
const none = undefined;
const account = { id: ACCOUNT_ID, name: '', plan: 'free', agreed: none, isSuspended: false, createdAtMs: 0 } as const;
const ofKey = { id: toKeyId(1n), accountId: ACCOUNT_ID, prefix: '', label: none, createdAtMs: 0 } as const;
const stored = { account, key: { ...ofKey, expiresAtMs: none, revokedAtMs: none } };

/** What an address has used up: its open calls, or its requests of the minute. */
interface Address {
  readonly isFull?: boolean;
  readonly isPastLimit?: boolean;
}

function newAuthentication({ isFull = false, isPastLimit = false }: Address = {}) {
  const events: string[] = [];
  const refuse = () => Promise.reject(apiError('RATE_LIMITED', { limit: 1, window: 'minute', retryAfterSeconds: 1 }));
  const note = async (event: string) => void events.push(event);
  const findKey = async (hash: Buffer) => {
    events.push('look up');
    return hash.equals(hashKey(KEY)) ? stored : undefined;
  };
  const interceptor = authentication(createApiKeyCache({ findKey }, PLANS), {
    count: () => (isPastLimit ? refuse() : note('count')),
    hold: async () => (isFull ? refuse() : () => void note('release')),
    show: () => note('show'),
  });
  return { events, interceptor };
}

/** Sends a call through authentication. Returns its outcome, its caller, and what was done for it. */
async function enter(authorization: string | undefined, address?: Address) {
  const { events, interceptor } = newAuthentication(address);
  const call = newCall('PetService/GetPet', { metadata: authorization === undefined ? {} : { authorization } });
  const outcome = await interceptor(call, handler().next).catch((error: ApiError) => error.code);
  return { outcome, caller: call.caller, events: events.filter((event) => event !== 'show') };
}

test('Authentication - a call with a valid key passes, also past the limit of its address', async (t) => {
  for (const scheme of ['Bearer ', 'bearer ', 'BEARER   ']) {
    const { outcome, caller, events } = await enter(`${scheme}${KEY}`, { isPastLimit: true });
    t.is(outcome, RESPONSE, scheme);
    t.like(caller, { accountId: ACCOUNT_ID, quota: QUOTA });
    t.deepEqual(events, ['look up', 'release']);
  }
});

const MISSING = [none, '', KEY, 'Bearer', 'Bearer ', `Basic ${KEY}`, `Bearer${KEY}`, `Bearer ${KEY} ${KEY}`];
const MALFORMED = [KEY.toLowerCase(), KEY.slice(0, -1), `${KEY}0`, `${KEY},`, 'x', OPERATOR_KEY];

for (const [title, headers, code, expected] of [
  ['without a header of the form "Bearer KEY" a call is API_KEY_MISSING', MISSING, 'API_KEY_MISSING', ['count']],
  ['a malformed key is API_KEY_INVALID', MALFORMED.map((key) => `Bearer ${key}`), 'API_KEY_INVALID', ['count']],
  ['an unknown key is API_KEY_INVALID', [`Bearer ${generateKey()}`], 'API_KEY_INVALID', ['look up', 'count']],
] as const) {
  test(`Authentication - ${title}, and counts against its address`, async (t) => {
    for (const header of headers) {
      t.deepEqual(await enter(header), { outcome: code, caller: undefined, events: [...expected] }, header);
      t.is((await enter(header, { isPastLimit: true })).outcome, 'RATE_LIMITED', header);
    }
  });
}

test('Authentication - past the open calls of its address a call is a 429, without a look-up', async (t) => {
  for (const key of [KEY, generateKey(), 'x']) {
    t.like(await enter(`Bearer ${key}`, { isFull: true }), { outcome: 'RATE_LIMITED', events: [] });
  }
});

test('Operator - a call with the operator key passes, any other is OPERATOR_KEY_INVALID and counts', async (t) => {
  let counted = 0;
  const interceptor = operatorOnly(OPERATOR_KEY, {
    count: async () => {
      counted += 1;
    },
  });
  const send = (authorization: string) =>
    interceptor(newCall('PetService/GetPet', { metadata: { authorization } }), handler().next).catch(
      (error: ApiError) => error.code,
    );
  t.is(await send(`Bearer ${OPERATOR_KEY}`), RESPONSE);
  const wrong = [
    '',
    ...[KEY, generateKey('operator'), OPERATOR_KEY.slice(0, -1), `${OPERATOR_KEY}0`].map((key) => `Bearer ${key}`),
  ];
  t.is(counted, 0);
  for (const authorization of wrong) t.is(await send(authorization), 'OPERATOR_KEY_INVALID');
  t.is(counted, wrong.length);
});
