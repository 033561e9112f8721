/** The checker of limits, usage and recovery: it accepts what the promises allow, and nothing else. */
import test from 'ava';
import { checkLimits, checkUsage } from '../support/chaos/check-counts.ts';
import { checkAnswers, checkRecovery } from '../support/chaos/check-service.ts';
import { at, burst, evidence, fault, refused, seen, unanswered } from '../support/chaos/history-builder.ts';

const READ = seen('Tom');
const LIMITED = refused(READ, 'RATE_LIMITED');

test('Limits - one request beyond the limit of a minute is a violation', (t) => {
  t.deepEqual(checkLimits(evidence({ calls: burst(0, 100, READ) })), []);
  t.is(checkLimits(evidence({ calls: burst(0, 101, READ) })).length, 1);
});

test('Limits - the next minute has the whole limit again, within the limit of the day', (t) => {
  t.deepEqual(checkLimits(evidence({ calls: [...burst(58, 100, READ), ...burst(60, 50, READ)] })), []);
  t.is(checkLimits(evidence({ calls: [...burst(58, 100, READ), ...burst(61, 51, READ)] })).length, 1);
});

test('Limits - refused and unanswered requests do not count as admitted', (t) => {
  const others = [...burst(10, 50, unanswered(READ)), ...burst(20, 50, LIMITED)];
  t.deepEqual(checkLimits(evidence({ calls: [...burst(0, 100, READ), ...others] })), []);
});

test('Limits - a request refused by its method counts', (t) => {
  const calls = [...burst(0, 100, READ), ...burst(10, 1, refused(READ, 'PET_NOT_FOUND'))];
  t.is(checkLimits(evidence({ calls })).length, 1);
});

test('Limits - the end of a server that counts in memory resets its minute, once', (t) => {
  const faults = [fault(5, 5, 'server')];
  t.deepEqual(checkLimits(evidence({ faults, calls: [...burst(0, 100, READ), ...burst(10, 50, READ)] })), []);
  const calls = [...burst(0, 100, READ), ...burst(10, 101, READ)];
  t.is(checkLimits(evidence({ faults, calls })).length, 2, 'the minute, and the day: it loses the last second only');
});

test('Limits - the end of a server resets nothing while Redis counts', (t) => {
  const faults = [fault(5, 5, 'server')];
  t.is(checkLimits(evidence({ servers: 3, faults, calls: burst(0, 101, READ) })).length, 1);
});

test('Limits - while Redis is unavailable each server admits what was left, and no more', (t) => {
  const accounts = [{ name: 'minute', perMinute: 100, perDay: 1_000_000 }];
  const some = { servers: 3, accounts, faults: [fault(5, 6, 'redis')] };
  const before = burst(0, 70, READ);
  t.deepEqual(checkLimits(evidence({ ...some, calls: [...before, ...burst(5, 90, READ)] })), []);
  t.is(checkLimits(evidence({ ...some, calls: [...before, ...burst(5, 91, READ)] })).length, 1);
  t.is(
    checkLimits(evidence({ ...some, calls: [...burst(120, 101, READ)] })).length,
    1,
    'long after the outage it is exact again',
  );
});

test('Limits - a refusal without an exhausted window is a violation', (t) => {
  t.deepEqual(checkLimits(evidence({ calls: [...burst(0, 99, READ), ...burst(10, 1, LIMITED)] })), []);
  t.is(checkLimits(evidence({ calls: [...burst(0, 90, READ), ...burst(10, 1, LIMITED)] })).length, 1);
  t.is(
    checkLimits(evidence({ calls: [...burst(0, 100, READ), ...burst(70, 1, LIMITED)] })).length,
    1,
    'in its own minute',
  );
});

test('Usage - equals the admitted requests', (t) => {
  const calls = [...burst(0, 100, READ), ...burst(10, 5, LIMITED)];
  const usageOf = (requests: number) => evidence({ calls, usage: [{ account: 'minute', requests }] });
  t.deepEqual(checkUsage(usageOf(100)), []);
  t.is(checkUsage(usageOf(99)).length, 1);
  t.is(checkUsage(usageOf(101)).length, 1);
});

test('Usage - an unanswered call may have counted or not', (t) => {
  const calls = [...burst(0, 100, READ), at(10, 11, unanswered(READ), 'minute')];
  for (const requests of [100, 101]) {
    t.deepEqual(checkUsage(evidence({ calls, usage: [{ account: 'minute', requests }] })), []);
  }
  t.is(checkUsage(evidence({ calls, usage: [{ account: 'minute', requests: 99 }] })).length, 1);
});

test('Usage - a server that is killed may lose the last second, and nothing before', (t) => {
  const calls = [...burst(0, 100, READ), ...burst(20, 10, READ)];
  const faults = [fault(20.2, 20.2, 'server')];
  t.deepEqual(checkUsage(evidence({ calls, faults, usage: [{ account: 'minute', requests: 100 }] })), []);
  t.is(checkUsage(evidence({ calls, faults, usage: [{ account: 'minute', requests: 99 }] })).length, 1);
});

test('Usage - while Redis is away counts may be lost, but none may be added', (t) => {
  const calls = [...burst(0, 100, READ), ...burst(20, 10, READ)];
  const faults = [fault(19, 21, 'redis')];
  const checked = (requests: number) =>
    checkUsage(evidence({ calls, faults, usage: [{ account: 'minute', requests }] }));
  for (const requests of [100, 110]) t.deepEqual(checked(requests), []);
  for (const requests of [99, 111]) t.is(checked(requests).length, 1);
});

test('Recovery - a call that fails too long after the last fault is a violation', (t) => {
  const faults = [fault(0, 5, 'storage')];
  const calls = [at(10, 14, unanswered(READ)), at(16, 17, READ)];
  t.deepEqual(checkRecovery(evidence({ calls, faults }), 10_000), []);
  t.is(checkRecovery(evidence({ calls, faults }), 8_000).length, 1);
});

test('Responses - one later than promised, a fault, and a refusal of a valid key are violations', (t) => {
  t.deepEqual(checkAnswers([at(0, 15, READ)]), []);
  t.is(checkAnswers([at(0, 21, READ)]).length, 1);
  for (const code of ['API_KEY_INVALID', 'INTERNAL']) t.is(checkAnswers([at(0, 1, refused(READ, code))]).length, 1);
});
