import { status as Status } from '@grpc/grpc-js';
import test from 'ava';
import { type ApiError, apiError } from '../../src/errors.ts';
import type { End, Next } from '../../src/interceptors/chain.ts';
import { type CallRecorder, type Outcome, recordMetrics } from '../../src/interceptors/metrics.ts';
import type { Caller } from '../../src/keys/caller.ts';
import { toAccountId, toKeyId } from '../../src/model.ts';
import { newCall, RESPONSE } from '../support/call.ts';

const PATH = '/petstore.v1.PetService/GetPet';
const CALLER = {
  keyId: toKeyId(1n),
  accountId: toAccountId(7n),
  plan: 'pro',
  quota: { perMinute: 1, perDay: 1 },
} as const;

/** The events that are recorded for a call that ends like this. */
async function eventsOf(
  how: Partial<End>,
  { caller, next = async () => RESPONSE }: { caller?: Caller; next?: Next } = {},
) {
  const events: unknown[] = [];
  const recorder: CallRecorder = {
    end: ({ path, code, seconds }) => events.push([path, Status[code], seconds]),
    fail: (reason, failing) => events.push([reason, failing?.plan]),
    replay: () => events.push('replay'),
  };
  const call = newCall('PetService/GetPet');
  if (caller !== undefined) call.caller = caller;
  await recordMetrics(recorder).intercept(call, next);
  if (events.length > 0) throw new Error('the call was counted before it ended');
  call.end({ durationMs: 1_500, ...how });
  return events;
}

/** How a call ends with this error. */
const failed = (error: ApiError): Partial<End> => ({ code: error.grpcStatus, error });

test('Metrics - a successful call is counted once, when it ends', async (t) => {
  t.deepEqual(await eventsOf({}), [[PATH, 'OK', 1.5]]);
});

test('Metrics - an error is counted by status, by its code, and by the plan of the caller', async (t) => {
  const events = await eventsOf(failed(apiError('PET_NOT_FOUND', { petId: 1n })), { caller: CALLER });
  t.deepEqual(events, [
    [PATH, 'NOT_FOUND', 1.5],
    ['PET_NOT_FOUND', 'pro'],
  ]);
});

test('Metrics - an error without a valid key has no plan', async (t) => {
  t.deepEqual(await eventsOf(failed(apiError('API_KEY_MISSING', { seen: '' }))), [
    [PATH, 'UNAUTHENTICATED', 1.5],
    ['API_KEY_MISSING', undefined],
  ]);
});

test('Metrics - a call whose caller has left is CANCELLED, and not an error', async (t) => {
  for (const error of [undefined, apiError('DEADLINE_EXCEEDED')]) {
    t.deepEqual(await eventsOf({ code: Status.CANCELLED, error }), [[PATH, 'CANCELLED', 1.5]]);
  }
});

test('Metrics - a call that ends after its deadline is DEADLINE_EXCEEDED, whatever its outcome', async (t) => {
  for (const error of [undefined, apiError('UNAVAILABLE')]) {
    t.deepEqual(await eventsOf({ code: Status.DEADLINE_EXCEEDED, error }), [
      [PATH, 'DEADLINE_EXCEEDED', 1.5],
      ['DEADLINE_EXCEEDED', undefined],
    ]);
  }
});

test('Metrics - a response from the record of an earlier call is a replay', async (t) => {
  const next: Next = async (call) => {
    call.responseHeaders.set('idempotency-replayed', 'true');
    return RESPONSE;
  };
  t.deepEqual(await eventsOf({}, { next }), [[PATH, 'OK', 1.5], 'replay']);
});

test('Metrics - a stream is counted when it ends, without a duration', async (t) => {
  const outcomes: Outcome[] = [];
  const recorder = {
    end: (outcome: Outcome) => outcomes.push(outcome),
    fail: () => undefined,
    replay: () => undefined,
  };
  const call = newCall('/grpc.health.v1.Health/Watch');
  await recordMetrics(recorder).intercept(call, async () => RESPONSE);
  t.deepEqual(outcomes, []);
  call.end({});
  t.deepEqual(outcomes, [{ path: '/grpc.health.v1.Health/Watch', code: Status.OK, seconds: undefined }]);
});
