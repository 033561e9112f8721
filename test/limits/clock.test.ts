/** The clock of the limits: right even while the wall clock is wrong for a moment. */
import test from 'ava';
import { steadyClock } from '../../src/limits/clock.ts';

const NOON_MS = Date.UTC(2026, 6, 1, 12);
const HOUR_MS = 3_600_000;

/** A clock under the test's control: `run` advances time, `set` moves only the wall clock. */
function setUp() {
  const readings = { wallMs: NOON_MS, monotonicMs: 12_345.5 };
  const clock = steadyClock(
    () => readings.wallMs,
    () => readings.monotonicMs,
  );
  const set = (byMs: number) => {
    readings.wallMs += byMs;
  };
  const run = (forMs: number) => {
    readings.monotonicMs += forMs;
    readings.wallMs += forMs;
  };
  return { clock, set, run, readings };
}

for (const [name, byMs] of [
  ['an hour ahead', HOUR_MS],
  ['a day ahead', 24 * HOUR_MS],
  ['an hour behind', -HOUR_MS],
  ['a day behind', -24 * HOUR_MS],
] as const) {
  test(`Clock - one reading ${name} is ignored`, (t) => {
    const { clock, set, run } = setUp();
    run(5_000);
    set(byMs);
    t.is(clock(), NOON_MS + 5_000);
    set(-byMs);
    run(1_000);
    t.is(clock(), NOON_MS + 6_000);
  });

  test(`Clock - a wall clock set ${name} is followed after a minute`, (t) => {
    const { clock, set, run } = setUp();
    set(byMs);
    for (let second = 0; second < 60; second += 1) {
      t.is(clock(), NOON_MS + second * 1_000);
      run(1_000);
    }
    t.is(clock(), NOON_MS + byMs + 60_000);
    run(1_000);
    t.is(clock(), NOON_MS + byMs + 61_000);
  });
}

test('Clock - readings that are wrong by varying amounts are ignored', (t) => {
  const { clock, set, run } = setUp();
  for (let second = 0; second < 300; second += 1) {
    const byMs = (second % 7) * HOUR_MS;
    set(byMs);
    t.is(clock(), NOON_MS + second * 1_000);
    set(-byMs);
    run(1_000);
  }
});

test('Clock - a wall clock that is slewed is followed at once', (t) => {
  const { clock, set, run, readings } = setUp();
  for (let second = 0; second < 600; second += 1) {
    run(1_000);
    set(second < 300 ? 5 : -5);
    t.is(clock(), readings.wallMs);
  }
});

test('Clock - returns whole milliseconds', (t) => {
  const { clock, run } = setUp();
  run(0.4);
  t.true(Number.isInteger(clock()));
});
