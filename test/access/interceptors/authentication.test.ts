import test from 'ava';
import { authentication, operatorOnly } from '../../../src/platform/access/interceptors/authentication.ts';
import { createApiKeyCache } from '../../../src/platform/access/keys/api-key-cache.ts';
import { generateKey } from '../../../src/platform/access/keys/format.ts';
import { readConfig } from '../../../src/platform/config/config.ts';
import { type ApiError, apiError } from '../../../src/platform/errors.ts';
import { toAccountId, toKeyId } from '../../../src/platform/rpc/caller.ts';
import { handler, newCall, RESPONSE } from '../../support/service/call.ts';

const PLANS = readConfig({}).limits.plans;
const [KEY, OPERATOR_KEY] = [generateKey(), generateKey('operator')];
const ACCOUNT_ID = toAccountId(7n);
const none = undefined;
const account = { id: ACCOUNT_ID, name: '', plan: 'free', agreed: none, isSuspended: false, createdAtMs: 0 } as const;
const ofKey = { id: toKeyId(1n), accountId: ACCOUNT_ID, prefix: '', label: none, createdAtMs: 0 } as const;
const stored = { account, key: { ...ofKey, expiresAtMs: none, revokedAtMs: none } };

/** Sends a call through authentication. Returns its outcome, and what was done with the shares of its address. */
async function enter(key: string, isFull: boolean) {
  const events: string[] = [];
  const findKey = async () => {
    events.push('look up');
    return stored;
  };
  const refuse = () => Promise.reject(apiError('RATE_LIMITED', { limit: 1, window: 'minute', retryAfterSeconds: 1 }));
  const interceptor = authentication(createApiKeyCache({ findKey }, PLANS), {
    count: async () => undefined,
    hold: async () => (isFull ? refuse() : () => void events.push('release')),
    show: async () => undefined,
  });
  const call = newCall('PetService/GetPet', { metadata: { authorization: `Bearer ${key}` } });
  const outcome = await interceptor(call, handler().next).catch((error: ApiError) => error.code);
  return { outcome, events };
}

test('Authentication - past the open calls of its address a call is a 429, without a look-up', async (t) => {
  for (const key of [KEY, 'x']) t.deepEqual(await enter(key, true), { outcome: 'RATE_LIMITED', events: [] });
});

test('Authentication - a call with a valid key gives the share of its address back', async (t) => {
  t.deepEqual(await enter(KEY, false), { outcome: RESPONSE, events: ['look up', 'release'] });
});

test('Operator - a call with the operator key passes, any other is OPERATOR_KEY_INVALID and counts', async (t) => {
  let [counted, refused] = [0, 0];
  const count = async () => {
    counted += 1;
  };
  const interceptor = operatorOnly(OPERATOR_KEY, { count }, () => {
    refused += 1;
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
  t.deepEqual([counted, refused], [0, 0]);
  for (const authorization of wrong) t.is(await send(authorization), 'OPERATOR_KEY_INVALID');
  t.deepEqual([counted, refused], [wrong.length, wrong.length]);
});
