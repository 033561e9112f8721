/** How many streams of events an account has open over several servers, which share a real Redis. */
import { until } from '../../support/until.ts';
import { LONG_TIMEOUT, test, waitForRecovery } from './suite/redis-outage.ts';
import { ACCOUNT_ID, OTHER_ACCOUNT } from './suite/setup.ts';

const MAX = 10;
/** Longer than a server's number is kept. */
const FORGOTTEN_MS = 15_000;

test('Streams - all servers together have at most the number of the account; others have their own', async (t) => {
  const [one, other] = [await t.context.open(LONG_TIMEOUT), await t.context.open(LONG_TIMEOUT)];
  const opened = await Promise.all(
    Array.from({ length: 6 }, (_, index) => one.countStreams(ACCOUNT_ID, index + 1, MAX)),
  );
  t.deepEqual(new Set(opened), new Set([true]));
  t.true(await other.countStreams(ACCOUNT_ID, 4, MAX));
  t.false(await other.countStreams(ACCOUNT_ID, 5, MAX));
  t.false(await one.countStreams(ACCOUNT_ID, 7, MAX));
  t.true(await other.countStreams(OTHER_ACCOUNT, MAX, MAX));
  await one.countStreams(ACCOUNT_ID, 0, Number.MAX_SAFE_INTEGER); // its streams have ended
  t.true(await other.countStreams(ACCOUNT_ID, MAX, MAX));
  await other.countStreams(ACCOUNT_ID, 0, Number.MAX_SAFE_INTEGER);
  await other.countStreams(OTHER_ACCOUNT, 0, Number.MAX_SAFE_INTEGER);
  t.deepEqual(await t.context.redis.command('KEYS', '*streams'), [], 'nothing is left');
});

test('Streams - those of a server that is gone are forgotten after 10 s', async (t) => {
  t.timeout(60_000);
  const [gone, there, other] = [await t.context.open(), await t.context.open(), await t.context.open()];
  t.true(await gone.countStreams(ACCOUNT_ID, 5, MAX));
  t.true(await there.countStreams(ACCOUNT_ID, 5, MAX));
  await gone.close();
  t.false(await other.countStreams(ACCOUNT_ID, 1, MAX));
  const tell = setInterval(() => void there.countStreams(ACCOUNT_ID, 5, Number.MAX_SAFE_INTEGER), 1_000);
  t.teardown(() => clearInterval(tell));
  await until(() => other.countStreams(ACCOUNT_ID, 5, MAX), 'the end of what the first had', FORGOTTEN_MS);
  t.false(await other.countStreams(ACCOUNT_ID, 6, MAX));
});

test('Streams - while Redis is away each server counts alone; it learns all numbers when it is back', async (t) => {
  const [one, other] = [await t.context.open(LONG_TIMEOUT), await t.context.open(LONG_TIMEOUT)];
  t.true(await one.countStreams(ACCOUNT_ID, MAX, MAX));
  await t.context.redis.kill();
  t.true(await other.countStreams(ACCOUNT_ID, MAX, MAX));
  await t.context.redis.startAgain(); // with nothing in it
  await waitForRecovery(one, other);
  t.true(await one.countStreams(ACCOUNT_ID, MAX, Number.MAX_SAFE_INTEGER)); // as every 3 s
  t.false(await other.countStreams(ACCOUNT_ID, 1, MAX));
});

test('Streams - a clock of Redis that was ahead keeps nothing for longer', async (t) => {
  const [one, other] = [await t.context.open(LONG_TIMEOUT), await t.context.open(LONG_TIMEOUT)];
  t.true(await one.countStreams(ACCOUNT_ID, MAX, MAX));
  const [name = ''] = (await t.context.redis.command('KEYS', '*streams')) as string[];
  const [server = ''] = (await t.context.redis.command('HKEYS', name)) as string[];
  await t.context.redis.command('HSET', name, server, `${MAX} ${Date.now() + 3_600_000}`);
  t.true(await other.countStreams(ACCOUNT_ID, MAX, MAX));
});
