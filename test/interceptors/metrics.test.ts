import { status as Status } from '@grpc/grpc-js';
import test from 'ava';
import { apiError } from '../../src/errors.ts';
import { type Call, chain, type Next } from '../../src/interceptors/chain.ts';
import { errorMapping } from '../../src/interceptors/error-mapping.ts';
import { type CallRecorder, type Outcome, recordMetrics } from '../../src/interceptors/metrics.ts';
import { toAccountId, toKeyId } from '../../src/model.ts';
import { newCall, passThrough, RESPONSE } from '../support/call.ts';

const PATH = '/petstore.v1.PetService/GetPet';
const CALLER = {
  keyId: toKeyId(1n),
  accountId: toAccountId(7n),
  plan: 'pro',
  quota: { perMinute: 1, perDay: 1 },
} as const;

/** Runs a call and resolves with its recorded events. */
async function eventsOf(next: Next, parts: Partial<Call> = {}) {
  const events: unknown[] = [];
  const recorder: CallRecorder = {
    begin: () => events.push('begin'),
    end: ({ path, code }: Outcome) => events.push([path, Status[code]]),
    fail: (reason, caller) => events.push([reason, caller?.plan]),
    replay: () => events.push('replay'),
  };
  await recordMetrics(recorder)
    .intercept({ ...newCall('PetService/GetPet'), ...parts }, next)
    .catch(() => undefined);
  return events;
}

test('Metrics - a successful call is counted once', async (t) => {
  t.deepEqual(await eventsOf(async () => RESPONSE), ['begin', [PATH, 'OK']]);
});

test('Metrics - an error is counted by status, by its code, and by the plan of the caller', async (t) => {
  const refuse = async () => Promise.reject(apiError('PET_NOT_FOUND', { petId: 1n }));
  t.deepEqual(await eventsOf(refuse, { caller: CALLER }), ['begin', [PATH, 'NOT_FOUND'], ['PET_NOT_FOUND', 'pro']]);
});

test('Metrics - an error without a valid key has no plan', async (t) => {
  const refuse = async () => Promise.reject(apiError('API_KEY_MISSING'));
  t.deepEqual(await eventsOf(refuse), ['begin', [PATH, 'UNAUTHENTICATED'], ['API_KEY_MISSING', undefined]]);
});

test('Metrics - an unexpected error is INTERNAL', async (t) => {
  t.deepEqual(await eventsOf(async () => Promise.reject(new Error('oh'))), [
    'begin',
    [PATH, 'INTERNAL'],
    ['INTERNAL', undefined],
  ]);
});

test('Metrics - a call whose caller has left is CANCELLED, and not an error', async (t) => {
  const isCancelled = () => true;
  const refuse = async () => Promise.reject(apiError('DEADLINE_EXCEEDED'));
  for (const next of [async () => RESPONSE, refuse]) {
    t.deepEqual(await eventsOf(next, { isCancelled }), ['begin', [PATH, 'CANCELLED']]);
  }
});

test('Metrics - a call that ends after its deadline is DEADLINE_EXCEEDED, whatever its outcome', async (t) => {
  const late = { isCancelled: () => true, isLate: () => true };
  const refuse = async () => Promise.reject(apiError('UNAVAILABLE'));
  for (const next of [async () => RESPONSE, refuse]) {
    t.deepEqual(await eventsOf(next, late), ['begin', [PATH, 'DEADLINE_EXCEEDED'], ['DEADLINE_EXCEEDED', undefined]]);
  }
});

test('Metrics - a response from the record of an earlier call is a replay', async (t) => {
  const replay: Next = async (call) => {
    call.responseHeaders.set('idempotency-replayed', 'true');
    return RESPONSE;
  };
  t.deepEqual(await eventsOf(replay), ['begin', 'replay', [PATH, 'OK']]);
});

test('Metrics - errorMapping must come after it', (t) => {
  const nothing = { begin: () => undefined, end: () => undefined, fail: () => undefined, replay: () => undefined };
  const error = t.throws(() =>
    chain([passThrough('logging'), errorMapping, recordMetrics(nothing)], async () => RESPONSE),
  );
  t.regex(
    error?.message ?? '',
    /^interceptor "metrics" must come before "errorMapping": so that a call is counted with the error/,
  );
});
