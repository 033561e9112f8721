import { getEventListeners } from 'node:events';
import { mock } from 'node:test';
import { setTimeout as delay, setImmediate as settled } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { Admission } from '../../src/platform/client/admission.ts';
import { CallError } from '../../src/platform/client/call-error.ts';

/** One attempt at a call. The test ends it. */
interface Attempt {
  readonly name: string;
  succeed(): Promise<void>;
  /** Refuses it with a 429, as the server does. */
  refuse(retryAfterMs: number): Promise<void>;
}

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

/** An admission of two calls at a time, and clocks that stand still. */
function start() {
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_800_000_000_000 });
  const { now } = Date;
  mock.method(performance, 'now', now);
  const admission = new Admission(2);
  const sent: Attempt[] = [];
  const ends: Record<string, string> = {};
  const send = (name: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const done = (settle: () => void) => {
      sent.splice(sent.indexOf(attempt), 1);
      settle();
      return settled();
    };
    const attempt: Attempt = {
      name,
      succeed: () => done(resolve),
      refuse: (retryAfterMs) => done(() => reject(refusal(retryAfterMs))),
    };
    sent.push(attempt);
    return promise;
  };
  return {
    admission,
    sent,
    ends,
    /** Makes a call with a timeout. Resolves when it has been sent, if it may be. */
    call(name: string, timeoutMs: number) {
      const patience = { deadlineMs: performance.now() + timeoutMs, signal: undefined };
      admission
        .run(() => send(name), patience)
        .then(
          () => (ends[name] = 'OK'),
          (error: CallError) => (ends[name] = `${error.code} ${error.retryAfterMs ?? ''}`.trim()),
        );
      return settled();
    },
    set: (byMs: number) => mock.method(Date, 'now', () => now() + byMs),
    /** Advances the clocks and runs due timers. */
    async pass(ms: number) {
      mock.timers.tick(ms);
      await settled();
    },
  };
}

const test = anyTest as TestFn<ReturnType<typeof start>>;
test.beforeEach((t) => {
  t.context = start();
});
test.afterEach.always(() => mock.reset());

function refusal(retryAfterMs: number): CallError {
  return new CallError('refused', { code: 'RATE_LIMITED', grpcStatus: status.RESOURCE_EXHAUSTED, retryAfterMs });
}

function names({ sent }: ReturnType<typeof start>): string {
  return sent.map(({ name }) => name).join(' ');
}

test.serial('admission - sends at most maxInFlight calls at once, in the order of the calls', async (t) => {
  const { sent, call } = t.context;
  for (const name of ['a', 'b', 'c', 'd']) await call(name, SECOND);
  t.is(names(t.context), 'a b');
  await sent[1]?.succeed();
  t.is(names(t.context), 'a c');
  const { signal } = new AbortController();
  const admission = new Admission(1);
  await admission.run(async () => undefined, { deadlineMs: performance.now() + SECOND, signal });
  t.deepEqual(getEventListeners(signal, 'abort'), [], 'a call that has been sent has no listener');
});

test.serial('admission - after a refusal nothing is sent until Retry-After, then in order', async (t) => {
  const { sent, ends, call, pass } = t.context;
  for (const name of ['a', 'b', 'c']) await call(name, 60 * SECOND);
  await sent[0]?.refuse(20 * SECOND);
  sent[0]?.succeed(); // b, which was in flight
  await pass(19_999);
  call('d', 60 * SECOND);
  t.is(names(t.context), '');
  await pass(1);
  t.is(names(t.context), 'c a');
  t.deepEqual(ends, { b: 'OK' });
});

test.serial('admission - a pause is as long as the server says, however the clock is set meanwhile', async (t) => {
  const { sent, ends, call, set, pass } = t.context;
  for (const byMs of [-HOUR, HOUR, 0]) {
    for (const name of ['a', 'patient']) await call(name, 60 * SECOND);
    for (; sent.length > 0; ) await sent[0]?.refuse(20 * SECOND);
    set(byMs);
    await call('brief', 10 * SECOND);
    t.is(ends.brief, 'RATE_LIMITED 20000');
    await pass(20 * SECOND);
    t.is(names(t.context), 'a patient');
    for (; sent.length > 0; await settled()) sent[0]?.succeed();
  }
});

test.serial('admission - a new call during a pause costs the same however many wait', async (t) => {
  const { admission, sent, call } = t.context;
  await call('a', 60 * SECOND);
  await sent[0]?.refuse(20 * SECOND);
  let looks = 0;
  const expiry = {
    get deadlineMs() {
      looks += 1;
      return performance.now() + 60 * SECOND;
    },
    signal: undefined,
  };
  const calls = Array.from({ length: 2_000 }, () => admission.run(async () => undefined, expiry));
  t.true(looks < 5 * calls.length, `${looks} looks at ${calls.length} calls`);
  mock.timers.tick(20 * SECOND);
  await Promise.all(calls);
});

test.serial('admission - calls with an earlier deadline fail at once with the refusal, also later ones', async (t) => {
  const { sent, ends, call, pass } = t.context;
  call('a', 10 * SECOND);
  call('b', 60 * SECOND);
  call('waiting', 10 * SECOND);
  await call('patient', 60 * SECOND);
  await sent[0]?.refuse(20 * SECOND);
  await pass(5 * SECOND);
  await call('later', 10 * SECOND);
  t.deepEqual(ends, { a: 'RATE_LIMITED 20000', waiting: 'RATE_LIMITED 20000', later: 'RATE_LIMITED 15000' });
  t.is(names(t.context), 'b');
});

test.serial('admission - a call fails when its deadline passes in the queue, in the past or months away', async (t) => {
  mock.reset();
  const { sent, ends, call } = t.context;
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on('warning', onWarning);
  for (const name of ['a', 'b', 'c']) call(name, 20);
  call('late', -SECOND);
  call('patient', 90 * 24 * HOUR);
  await delay(50);
  process.off('warning', onWarning);
  t.deepEqual(ends, { c: 'DEADLINE_EXCEEDED', late: 'DEADLINE_EXCEEDED' });
  t.deepEqual(warnings, [], 'no invalid timer');
  for (; sent.length > 0; await settled()) sent[0]?.succeed();
  t.is(ends.patient, 'OK');
});

test.serial('admission - an abort ends a call that waits or was just admitted, with its reason', async (t) => {
  const { admission, sent, call } = t.context;
  const early = new AbortController();
  const admitted = admission.run(async () => t.fail('it was sent'), {
    deadlineMs: performance.now(),
    signal: early.signal,
  });
  early.abort(refusal(20 * SECOND)); // the reason is not a response to this call, so it pauses no other
  t.is(await admitted.catch((error) => error), early.signal.reason);
  for (const name of ['a', 'b']) await call(name, SECOND);
  const queued = new AbortController();
  const aborted = admission.run(async () => t.fail('sent'), {
    deadlineMs: performance.now() + SECOND,
    signal: queued.signal,
  });
  queued.abort(new Error('changed my mind'));
  sent[0]?.succeed();
  await t.throwsAsync(aborted, { message: 'changed my mind' });
  const late = new AbortController();
  const send = async () => {
    late.abort(new Error('amid a refusal'));
    throw refusal(20 * SECOND);
  };
  const refused = admission.run(send, { deadlineMs: performance.now() + 60 * SECOND, signal: late.signal });
  await t.throwsAsync(refused, { message: 'amid a refusal' });
});

test.serial('admission - close ends the calls that wait, also those that wait for the end of a refusal', async (t) => {
  const { admission, sent, ends, call, pass } = t.context;
  call('a', 10 * HOUR);
  await call('b', 10 * HOUR);
  await sent[0]?.refuse(5 * HOUR);
  let isClosed = false;
  const closed = admission.close().then(() => (isClosed = true));
  await pass(0);
  t.deepEqual(ends, { a: 'CANCELLED' });
  t.false(isClosed, 'b is in flight');
  sent[0]?.succeed();
  await closed;
  await pass(0);
  t.deepEqual(ends, { a: 'CANCELLED', b: 'OK' });
  await call('c', SECOND);
  t.is(ends.c, 'CANCELLED');
});
