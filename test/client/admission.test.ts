import { getEventListeners } from 'node:events';
import { mock } from 'node:test';
import { setTimeout as delay, setImmediate as settled } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { Admission } from '../../src/platform/client/admission.ts';
import { CallError } from '../../src/platform/client/call-error.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

/** An admission of two calls at a time, and clocks that stand still. */
function start() {
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_800_000_000_000 });
  const { now } = Date;
  mock.method(performance, 'now', now);
  const admission = new Admission(2);
  /** The attempts that have been sent and not ended, by the names of their calls. */
  const sent = new Map<string, PromiseWithResolvers<void>>();
  const ends: Record<string, string> = {};
  const send = (name: string) => {
    const attempt = Promise.withResolvers<void>();
    sent.set(name, attempt);
    return attempt.promise;
  };
  const end = (name: string) => {
    const attempt = sent.get(name);
    sent.delete(name);
    return attempt;
  };
  return {
    admission,
    ends,
    sent: () => [...sent.keys()].join(' '),
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
    succeed(name: string) {
      end(name)?.resolve();
      return settled();
    },
    /** Refuses an attempt with a 429, as the server does. */
    refuse(name: string, retryAfterMs: number) {
      end(name)?.reject(refusal(retryAfterMs));
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

test.serial('admission - sends at most maxInFlight calls at once, in the order of the calls', async (t) => {
  const { sent, call, succeed } = t.context;
  for (const name of ['a', 'b', 'c', 'd']) await call(name, SECOND);
  t.is(sent(), 'a b');
  await succeed('b');
  t.is(sent(), 'a c');
  const { signal } = new AbortController();
  await new Admission(1).run(async () => undefined, { deadlineMs: performance.now() + SECOND, signal });
  t.deepEqual(getEventListeners(signal, 'abort'), [], 'a call that has been sent has no listener');
});

test.serial('admission - after a refusal nothing is sent until Retry-After, however the clock is set', async (t) => {
  const { sent, ends, call, succeed, refuse, set, pass } = t.context;
  for (const byMs of [-HOUR, HOUR, 0]) {
    for (const name of ['a', 'b', 'c']) await call(name, 60 * SECOND);
    await refuse('a', 20 * SECOND);
    await succeed('b'); // which was in flight
    set(byMs);
    await pass(19_999);
    await call('d', 60 * SECOND);
    t.is(sent(), '');
    await pass(1);
    t.is(sent(), 'c a', 'then in order');
    for (const name of ['c', 'a', 'd']) await succeed(name);
  }
  t.deepEqual(ends, { a: 'OK', b: 'OK', c: 'OK', d: 'OK' });
});

test.serial('admission - calls with an earlier deadline fail at once with the refusal, also later ones', async (t) => {
  const { sent, ends, call, refuse, pass } = t.context;
  call('a', 10 * SECOND);
  call('b', 60 * SECOND);
  call('waiting', 10 * SECOND);
  await call('patient', 60 * SECOND);
  await refuse('a', 20 * SECOND);
  await pass(5 * SECOND);
  await call('later', 10 * SECOND);
  t.deepEqual(ends, { a: 'RATE_LIMITED 20000', waiting: 'RATE_LIMITED 20000', later: 'RATE_LIMITED 15000' });
  t.is(sent(), 'b');
});

test.serial('admission - a call fails when its deadline passes in the queue, in the past or months away', async (t) => {
  mock.reset();
  const { ends, call, succeed } = t.context;
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
  for (const name of ['a', 'b', 'patient']) await succeed(name);
  t.is(ends.patient, 'OK');
});

test.serial('admission - an abort ends a call that waits or was just admitted, with its reason', async (t) => {
  const { admission, call, succeed } = t.context;
  const run = ({ signal }: AbortController, send: () => Promise<unknown> = async () => t.fail('it was sent')) =>
    admission.run(send, { deadlineMs: performance.now() + 60 * SECOND, signal });
  const [early, queued, late] = [new AbortController(), new AbortController(), new AbortController()];
  const admitted = run(early);
  early.abort(refusal(20 * SECOND)); // the reason is not a response to this call, so it pauses no other
  t.is(await admitted.catch((error) => error), early.signal.reason);
  for (const name of ['a', 'b']) await call(name, SECOND);
  const aborted = run(queued);
  queued.abort(new Error('changed my mind'));
  succeed('a');
  await t.throwsAsync(aborted, { message: 'changed my mind' });
  const refused = run(late, async () => {
    late.abort(new Error('amid a refusal'));
    throw refusal(20 * SECOND);
  });
  await t.throwsAsync(refused, { message: 'amid a refusal' });
});

test.serial('admission - close ends the calls that wait, also those that wait for the end of a refusal', async (t) => {
  const { admission, ends, call, succeed, refuse, pass } = t.context;
  call('a', 10 * HOUR);
  await call('b', 10 * HOUR);
  await refuse('a', 5 * HOUR);
  let isClosed = false;
  const closed = admission.close().then(() => (isClosed = true));
  await pass(0);
  t.deepEqual(ends, { a: 'CANCELLED' });
  t.false(isClosed, 'b is in flight');
  succeed('b');
  await closed;
  await pass(0);
  t.deepEqual(ends, { a: 'CANCELLED', b: 'OK' });
  await call('c', SECOND);
  t.is(ends.c, 'CANCELLED');
});
