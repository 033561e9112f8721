import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { Availability } from '../../src/platform/storage/availability.ts';

const CAUSE = new Error('connection refused');

function watched() {
  const reported: string[] = [];
  const state = new Availability({ info: () => reported.push('back'), warn: () => reported.push('away') }, 'away');
  return { reported, state };
}

/** When a call begins whose response counts after a failure of now. */
const later = () => performance.now() + 1_001;

test('Availability - a call that began before the database was back, and fails later, is old news', async (t) => {
  const { reported, state } = watched();
  state.noteFailure(CAUSE, performance.now());
  const beganMs = performance.now();
  await delay(2);
  state.noteResponse(later());
  state.noteFailure(CAUSE, beganMs);
  t.deepEqual(reported, ['away', 'back']);
});

test('Availability - a response within a second of a failure does not mean that the database is back', (t) => {
  const { reported, state } = watched();
  state.noteFailure(CAUSE, performance.now());
  state.noteResponse(performance.now());
  t.deepEqual(reported, ['away'], 'a server that stops may still respond');
});
