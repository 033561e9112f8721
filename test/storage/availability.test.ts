import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { Availability } from '../../src/storage/availability.ts';

const CAUSE = new Error('connection refused');

function watched() {
  const reported: string[] = [];
  const state = new Availability({ info: () => reported.push('back'), warn: () => reported.push('away') }, 'away');
  return { reported, state };
}

test('Availability - each change is reported once', (t) => {
  const { reported, state } = watched();
  for (let time = 0; time < 3; time += 1) state.noteFailure(CAUSE, performance.now());
  t.true(state.isAway);
  for (let time = 0; time < 3; time += 1) state.noteResponse(performance.now(), performance.now() + 1);
  t.false(state.isAway);
  t.deepEqual(reported, ['away', 'back']);
});

test('Availability - a call that began before the database was back, and fails later, is old news', async (t) => {
  const { reported, state } = watched();
  state.noteFailure(CAUSE, performance.now());
  const beganMs = performance.now();
  await delay(2);
  state.noteResponse(performance.now(), performance.now() + 1);
  state.noteFailure(CAUSE, beganMs);
  t.deepEqual(reported, ['away', 'back']);
});

test('Availability - one response on a connection from before does not mean that the database is back', async (t) => {
  const { reported, state } = watched();
  const openedMs = performance.now();
  await delay(2);
  state.noteFailure(CAUSE, performance.now());
  state.noteResponse(performance.now(), openedMs);
  t.deepEqual(reported, ['away'], 'a server that shuts down still responds there');
  state.noteResponse(performance.now() + 1_001, openedMs);
  t.deepEqual(reported, ['away', 'back'], 'one that goes on to respond does not shut down');
});
