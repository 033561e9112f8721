/** Queues of work by name: whose turn it is, and who waits for nothing. */
import test from 'ava';
import { NamedQueues } from '../../src/platform/storage/named-queues.ts';

test('Queues - who fills one locks no other account out of it', async (t) => {
  const queues = new NamedQueues({ atOnce: 1, maxWaiting: 4, maxWaitMs: 60_000 });
  const { promise, resolve } = Promise.withResolvers<void>();
  const done: string[] = [];
  const run = (owner: string, name: string) =>
    queues
      .run('pet 1', () => promise.then(() => void done.push(name)), owner)
      .catch(() => void done.push(`no ${name}`));
  const calls = [...['a0', 'a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'b3'].map((name) => run(name[0] ?? '', name))];
  t.is(queues.waiting, 4);
  resolve();
  await Promise.all(calls);
  t.deepEqual(done.filter((name) => name.startsWith('no')).sort(), ['no a3', 'no a4', 'no a5', 'no b3']);
  t.deepEqual(
    done.filter((name) => !name.startsWith('no')),
    ['a0', 'b1', 'a1', 'b2', 'a2'],
  );
  t.is(queues.waiting, 0);
});
