/** How many streams of events an account has, what they count, and how long events are kept. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { status } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { isError } from '../../support/contract.ts';
import { type EventSource, openEvents } from '../../support/event-source.ts';
import { detailsOf } from '../../support/grpc.ts';
import { withinOneMinute } from '../../support/limit-windows.ts';
import { connectOperator } from '../../support/operator.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';
import { until } from '../../support/until.ts';
import { watchEvents } from '../../support/watch-events.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always((t) => t.context.close());

const MAX_STREAMS = 10;
const LIMIT = 1_000;

async function newKey(stack: TestStack): Promise<string> {
  const operator = await connectOperator(stack);
  const key = await operator.keyOf({ perMinute: LIMIT, perDay: LIMIT });
  operator.close();
  return key;
}

const remaining = ({ response }: EventSource) => Number(response.headers.get('x-ratelimit-remaining'));

test.serial('after - an id older than what is kept is 410 EVENTS_EXPIRED, in the list and in a stream', async (t) => {
  const { rest, config } = t.context;
  for (let count = 0; count < 3; count += 1) await rest.category();
  const database = new DatabaseSync(join(config.dataDir, 'petstore.sqlite'), { timeout: 10_000 });
  database.exec('DELETE FROM events WHERE id < (SELECT max(id) FROM events)');
  database.close();
  for (const path of ['/events', '/events/stream']) {
    isError(t, await rest.get(`${path}?after=1`), 410, 'EVENTS_EXPIRED');
  }
});

test('Streams - an account has at most 10: the 11th is 429 TOO_MANY_STREAMS, over REST and gRPC', async (t) => {
  const { rest, publicAddress } = t.context;
  await withinOneMinute(20_000);
  const key = await newKey(t.context);
  const url = `${rest.url}/events/stream`;
  const open: EventSource[] = [];
  for (let count = 1; count <= MAX_STREAMS; count += 1) {
    const stream = await openEvents(url, key);
    t.is((await stream.next())?.event, 'ready');
    t.is(remaining(stream), LIMIT - count, 'opening a stream counts as one request');
    open.push(stream);
  }
  const refusals = 25; // 20 refusals that count are a ban
  for (let count = 0; count < refusals; count += 1) {
    const { status: httpStatus, body, headers } = await rest.withKey(key).get('/events/stream');
    t.is(httpStatus, 429);
    t.is(body.code, 'TOO_MANY_STREAMS');
    t.true(Number(headers.get('retry-after')) >= 1);
    t.is(headers.get('x-ratelimit-remaining'), String(LIMIT - MAX_STREAMS), 'it counts nothing');
  }
  const error = await watchEvents(publicAddress, key).ended;
  if (error === undefined) return t.fail('it is open');
  t.is(error.code, status.RESOURCE_EXHAUSTED);
  const { errorInfo, retryInfo } = detailsOf(error);
  t.is(errorInfo?.reason, 'TOO_MANY_STREAMS');
  t.true(Number(retryInfo?.retryDelay?.seconds) >= 1);
  t.is((await rest.withKey(key).get('/events?limit=1')).status, 200, 'it counts towards no ban');
  open.pop()?.close();
  const again = await until(async () => {
    const stream = await openEvents(url, key);
    if (stream.response.status === 200) return stream;
    stream.close();
    return undefined;
  }, 'a stream in place of the one that ended');
  for (const stream of [...open, again]) stream.close();
});

test('Streams - events count nothing', async (t) => {
  const { rest } = t.context;
  await withinOneMinute(10_000);
  const key = await newKey(t.context);
  const stream = await openEvents(`${rest.url}/events/stream`, key);
  await stream.next();
  for (let index = 0; index < 5; index += 1) await rest.category();
  await stream.take(5);
  t.is((await rest.withKey(key).get('/events?limit=1')).headers.get('x-ratelimit-remaining'), String(LIMIT - 2));
  stream.close();
});

test('Streams - a hundred at once of one account: ten are open', async (t) => {
  const { rest } = t.context;
  const key = await newKey(t.context);
  await rest.withKey(key).get('/events?limit=1'); // Envoy knows the key then
  const all = await Promise.all(Array.from({ length: 100 }, () => openEvents(`${rest.url}/events/stream`, key)));
  const statuses = all.map(({ response }) => response.status);
  t.is(statuses.filter((one) => one === 200).length, MAX_STREAMS);
  t.is(statuses.filter((one) => one === 429).length, 100 - MAX_STREAMS);
  for (const stream of all) stream.close();
});

test('Streams - without a valid key it is a 401, and none is counted for anybody', async (t) => {
  const { rest } = t.context;
  const { status: httpStatus, body } = await rest.withKey(undefined).get('/events/stream?colour=red');
  t.is(httpStatus, 401);
  t.is(body.code, 'API_KEY_MISSING');
});
