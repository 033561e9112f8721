/** What of the limits survives the end of a server. */
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { startStack } from '../../src/launcher/stack.ts';
import { withinOneDay } from '../support/limit-windows.ts';
import { connectOperator } from '../support/operator.ts';
import type { RestClient } from '../support/rest-client.ts';
import { startTestStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

/** A stack with a caller that has made 33 of its 40 requests, and one that is banned. */
async function start(t: ExecutionContext) {
  await withinOneDay(60_000);
  const service = await startTestStack();
  t.teardown(() => service.close());
  const operator = await connectOperator(service);
  const callerOf = async (perDay: number): Promise<RestClient> =>
    service.rest.withKey(await operator.keyOf({ perMinute: 100_000, perDay }));
  const [caller, banned] = [await callerOf(40), await callerOf(1)];
  operator.close();
  for (let i = 0; i < 22; i += 1) await banned.get('/pets');
  await Promise.all(Array.from({ length: 33 }, () => caller.get('/pets')));
  return { service, caller, banned };
}

test("limits - the day's count survives SIGTERM exactly, and so does a ban", async (t) => {
  const { service, caller, banned } = await start(t);
  await service.stack.stop(); // at once: the last requests are not stored yet
  const second = await startStack(service.config, { BUSINESS_PER_MINUTE: '1000000' });
  t.teardown(() => second.stop());
  t.is((await caller.get('/pets')).headers.get('x-ratelimit-remaining'), '6'); // 40 - 33 - this one
  t.is((await banned.get('/pets')).body.code, 'API_KEY_BANNED');
});

test("limits - kill -9 loses no more of the day's count than the last second, and no ban", async (t) => {
  const { service, caller, banned } = await start(t);
  await delay(1_000); // counts of the last second may be lost
  service.stack.servers[0]?.process.kill('SIGKILL');
  const anonymous = service.rest.withKey(undefined); // its requests count for neither account
  await until(async () => (await anonymous.get('/healthz')).status !== 200, 'the end of the server');
  await until(async () => (await anonymous.get('/healthz')).status === 200, 'the next server');
  t.is((await caller.get('/pets')).headers.get('x-ratelimit-remaining'), '6');
  t.is((await banned.get('/pets')).body.code, 'API_KEY_BANNED');
});
