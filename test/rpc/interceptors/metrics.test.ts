import { status as Status } from '@grpc/grpc-js';
import test from 'ava';
import { anyError } from '../../../src/error-table.ts';
import type { ApiError } from '../../../src/errors.ts';
import { type Caller, toAccountId, toKeyId } from '../../../src/rpc/caller.ts';
import type { End } from '../../../src/rpc/chain.ts';
import { type CallRecorder, type Outcome, recordMetrics } from '../../../src/rpc/interceptors/metrics.ts';
import { newCall } from '../../support/call.ts';

const PATH = '/petstore.v1.PetService/GetPet';
const OK: End = { code: Status.OK, error: undefined, durationMs: 1 };
const CALLER = {
  keyId: toKeyId(1n),
  accountId: toAccountId(7n),
  plan: 'pro',
  quota: { perMinute: 1, perDay: 1 },
} as const;

/** The events that are recorded for a call that ends like this. */
function eventsOf(how: Partial<End>, { caller, isReplay = false }: { caller?: Caller; isReplay?: boolean } = {}) {
  const events: unknown[] = [];
  const recorder: CallRecorder = {
    end: ({ path, code, seconds }) => events.push([path, Status[code], seconds]),
    fail: (reason, failing) => events.push([reason, failing?.plan]),
    endFeed: (reason) => events.push(['feed', reason]),
    replay: () => events.push('replay'),
  };
  const call = newCall('PetService/GetPet');
  if (caller !== undefined) call.caller = caller;
  if (isReplay) call.responseHeaders.set('idempotency-replayed', 'true');
  recordMetrics(recorder)(call, { ...OK, durationMs: 1_500, ...how });
  return events;
}

/** How a call ends with this error. */
const failed = (error: ApiError): Partial<End> => ({ code: error.grpcStatus, error });

test('Metrics - a successful call is counted once, when it ends', (t) => {
  t.deepEqual(eventsOf({}), [[PATH, 'OK', 1.5]]);
});

test('Metrics - an error is counted by status, by its code, and by the plan of the caller', (t) => {
  const events = eventsOf(failed(anyError('PET_NOT_FOUND', { petId: 1n })), { caller: CALLER });
  t.deepEqual(events, [
    [PATH, 'NOT_FOUND', 1.5],
    ['PET_NOT_FOUND', 'pro'],
  ]);
});

test('Metrics - an error without a valid key has no plan', (t) => {
  t.deepEqual(eventsOf(failed(anyError('API_KEY_MISSING', { seen: '' }))), [
    [PATH, 'UNAUTHENTICATED', 1.5],
    ['API_KEY_MISSING', undefined],
  ]);
});

test('Metrics - a call whose caller has left is CANCELLED, and not an error', (t) => {
  for (const error of [undefined, anyError('DEADLINE_EXCEEDED')]) {
    t.deepEqual(eventsOf({ code: Status.CANCELLED, error }), [[PATH, 'CANCELLED', 1.5]]);
  }
});

test('Metrics - a call that ends after its deadline is DEADLINE_EXCEEDED, whatever its outcome', (t) => {
  for (const error of [undefined, anyError('UNAVAILABLE')]) {
    t.deepEqual(eventsOf({ code: Status.DEADLINE_EXCEEDED, error }), [
      [PATH, 'DEADLINE_EXCEEDED', 1.5],
      ['DEADLINE_EXCEEDED', undefined],
    ]);
  }
});

test('Metrics - a response from the record of an earlier call is a replay', (t) => {
  t.deepEqual(eventsOf({}, { isReplay: true }), [[PATH, 'OK', 1.5], 'replay']);
});

test('Metrics - a stream is counted when it ends, without a duration', (t) => {
  const outcomes: Outcome[] = [];
  const recorder = {
    end: (outcome: Outcome) => outcomes.push(outcome),
    fail: () => undefined,
    endFeed: () => undefined,
    replay: () => undefined,
  };
  const call = newCall('/grpc.health.v1.Health/Watch');
  recordMetrics(recorder)(call, OK);
  t.deepEqual(outcomes, [{ path: '/grpc.health.v1.Health/Watch', code: Status.OK, seconds: undefined }]);
});

test('Metrics - a feed is counted by the reason of its end, which is an error only if something went wrong', (t) => {
  const unavailable = failed(anyError('UNAVAILABLE'));
  for (const feedEnd of ['age', 'key', 'drain'] as const) {
    t.deepEqual(eventsOf({ ...unavailable, feedEnd }).slice(1), [['feed', feedEnd]]);
  }
  t.deepEqual(eventsOf({ ...unavailable, feedEnd: 'error' }).slice(1), [
    ['feed', 'error'],
    ['UNAVAILABLE', undefined],
  ]);
});
