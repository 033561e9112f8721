import { mock } from 'node:test';
import { setImmediate as settled } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { Admission } from '../../src/client/admission.ts';
import { PetstoreError } from '../../src/client/petstore-error.ts';

/** One attempt at a call. The test ends it. */
interface Attempt {
  readonly name: string;
  succeed(): void;
  /** Refuses it with a 429, as the server does. */
  refuse(retryAfterMs: number): void;
}

interface Context {
  /** The open attempts, oldest first. */
  readonly sent: Attempt[];
  /** How each call ended. */
  readonly ends: Record<string, string>;
  /** Makes a call with a timeout. */
  call(name: string, timeoutMs: number): void;
  /** Advances the clock and runs due timers. */
  pass(ms: number): Promise<void>;
}

const test = anyTest as TestFn<Context>;
const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

test.beforeEach((t) => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_800_000_000_000 });
  const admission = new Admission(2);
  const sent: Attempt[] = [];
  const ends: Record<string, string> = {};
  const send = (name: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const done = (settle: () => void) => {
      sent.splice(sent.indexOf(attempt), 1);
      settle();
    };
    const refusal = (retryAfterMs: number) =>
      new PetstoreError('refused', { code: 'RATE_LIMITED', grpcStatus: status.RESOURCE_EXHAUSTED, retryAfterMs });
    const attempt: Attempt = {
      name,
      succeed: () => done(resolve),
      refuse: (retryAfterMs) => done(() => reject(refusal(retryAfterMs))),
    };
    sent.push(attempt);
    return promise;
  };
  t.context = {
    sent,
    ends,
    call(name, timeoutMs) {
      const patience = { deadlineMs: Date.now() + timeoutMs, signal: undefined };
      admission
        .run(() => send(name), patience)
        .then(
          () => (ends[name] = 'OK'),
          (error: PetstoreError) => (ends[name] = `${error.code} ${error.retryAfterMs ?? ''}`.trim()),
        );
    },
    async pass(ms) {
      mock.timers.tick(ms);
      await settled();
    },
  };
});
test.afterEach.always(() => mock.timers.reset());

/** Returns the names of the open attempts. */
function names({ sent }: Context): string {
  return sent.map(({ name }) => name).join(' ');
}

test.serial('admission - sends at most maxInFlight calls at once, in the order of the calls', async (t) => {
  const { sent, call, pass } = t.context;
  for (const name of ['a', 'b', 'c', 'd']) call(name, SECOND);
  t.is(names(t.context), 'a b');
  sent[1]?.succeed();
  await pass(0);
  t.is(names(t.context), 'a c');
});

test.serial('admission - after a refusal nothing is sent until Retry-After, then the refused call first', async (t) => {
  const { sent, ends, call, pass } = t.context;
  for (const name of ['a', 'b', 'c']) call(name, 60 * SECOND);
  sent[0]?.refuse(20 * SECOND);
  await pass(0);
  sent[0]?.succeed(); // b, which was in flight
  await pass(19_999);
  call('d', 60 * SECOND);
  t.is(names(t.context), '');
  await pass(1);
  t.is(names(t.context), 'a c');
  t.deepEqual(ends, { b: 'OK' });
});

test.serial(
  'admission - calls with an earlier deadline fail at once with the refusal, queued and later ones too',
  async (t) => {
    const { sent, ends, call, pass } = t.context;
    call('a', 10 * SECOND);
    call('b', 60 * SECOND);
    call('waiting', 10 * SECOND);
    call('patient', 60 * SECOND);
    sent[0]?.refuse(20 * SECOND);
    await pass(0);
    await pass(5 * SECOND);
    call('later', 10 * SECOND);
    await pass(0);
    t.deepEqual(ends, { a: 'RATE_LIMITED 20000', waiting: 'RATE_LIMITED 20000', later: 'RATE_LIMITED 15000' });
    t.is(names(t.context), 'b');
  },
);

test.serial(
  'admission - a long refusal applies to other calls for a minute, to the refused call until its end',
  async (t) => {
    const { sent, ends, call, pass } = t.context;
    call('a', 10 * HOUR);
    sent[0]?.refuse(5 * HOUR);
    await pass(0);
    call('b', HOUR);
    await pass(0);
    t.deepEqual(ends, { b: `RATE_LIMITED ${5 * HOUR}` });
    await pass(60 * SECOND);
    call('c', SECOND);
    t.is(names(t.context), 'c', 'limits may have been raised');
    sent[0]?.succeed();
    await pass(5 * HOUR - 60 * SECOND - 1);
    t.is(names(t.context), '');
    await pass(1);
    t.is(names(t.context), 'a');
  },
);

test.serial('admission - a call fails when its deadline passes in the queue', async (t) => {
  const { ends, call, pass } = t.context;
  for (const name of ['a', 'b', 'c']) call(name, SECOND);
  await pass(SECOND);
  t.deepEqual(ends, { c: 'DEADLINE_EXCEEDED' });
});
