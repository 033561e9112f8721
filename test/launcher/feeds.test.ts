/** Streams of events end cleanly, between two events, when their server stops or is replaced. */
import test from 'ava';
import { openEvents } from '../support/event-source.ts';
import { testUnless } from '../support/programs.ts';
import { sharedMissing, startShared } from '../support/shared.ts';
import { startTestStack } from '../support/stack.ts';

test('Stop - does not wait for streams of events, and ends them cleanly', async (t) => {
  const { rest, key, close } = await startTestStack();
  const stream = await openEvents(`${rest.url}/events/stream`, key);
  t.is((await stream.next())?.event, 'ready');
  const ended = stream.next();
  const beganMs = performance.now();
  await close();
  const tookMs = performance.now() - beganMs;
  t.is(await ended, undefined);
  t.true(tookMs < 8_000, `${tookMs}`);
});

testUnless(sharedMissing)('Rolling restart - ends the streams of each server cleanly', async (t) => {
  const shared = await startShared();
  t.teardown(() => shared.close());
  const settings = await shared.settings();
  const { rest, key, stack, close } = await startTestStack({ ...settings, INSTANCES: '2' });
  t.teardown(close);
  const streams = await Promise.all(Array.from({ length: 6 }, () => openEvents(`${rest.url}/events/stream`, key)));
  for (const stream of streams) t.is((await stream.next())?.event, 'ready');
  const ended = Promise.all(streams.map((stream) => stream.next()));
  await stack.restart();
  t.deepEqual(
    await ended,
    streams.map(() => undefined),
  );
});
