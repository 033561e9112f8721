import anyTest, { type TestFn } from 'ava';
import { Plan } from '../../../gen/petstore/admin/v1/admin.ts';
import { withinOneDay } from '../../support/limit-windows.ts';
import { connectOperator, type Operator } from '../../support/operator.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack & { operator: Operator }>;

test.before(async (t) => {
  const stack = await startTestStack();
  t.context = { ...stack, operator: await connectOperator(stack) };
});
test.after.always(async ({ context }) => {
  context.operator.close();
  await context.close();
});

test.beforeEach(() => withinOneDay(30_000));

/** Sends `count` requests at once. Returns how many were admitted in each minute, and how many were refused. */
async function burst(send: () => Promise<{ status: number; headers: Headers }>, count: number) {
  const passed = new Map<string | null, number>();
  const responses = await Promise.all(Array.from({ length: count }, send));
  for (const { status, headers } of responses) {
    const minute = headers.get('x-ratelimit-reset');
    if (status === 200) passed.set(minute, (passed.get(minute) ?? 0) + 1);
  }
  return { passed: [...passed.values()], refused: responses.filter(({ status }) => status === 429).length };
}

test('limits - of 200 concurrent requests on the Free plan exactly 60 pass in a minute', async (t) => {
  const rest = t.context.rest.withKey(await t.context.operator.keyOf(Plan.PLAN_FREE));
  const { passed } = await burst(() => rest.get('/pets'), 200);
  t.true(passed.every((count) => count === 60) || passed.reduce((a, b) => a + b) <= 120, String(passed));
  t.true(passed.includes(60));
});

test('limits - all keys of an account share its limit', async (t) => {
  const { rest, operator } = t.context;
  const { id } = await operator.account({ perMinute: 1_000, perDay: 10 });
  const keys = [(await operator.key(id)).key, (await operator.key(id)).key, (await operator.key(id)).key];
  let turn = 0;
  const { passed } = await burst(() => rest.withKey(keys[turn++ % 3]).get('/pets'), 60);
  t.is(
    passed.reduce((a, b) => a + b),
    10,
  );
});

test('limits - REST, native gRPC and refusals by Envoy count in one window, each once', async (t) => {
  const { rest, operator } = t.context;
  const { id } = await operator.account({ perMinute: 1_000, perDay: 9 });
  const caller = rest.withKey((await operator.key(id)).key);
  for (let i = 0; i < 3; i += 1) {
    t.is((await caller.get('/pets')).status, 200);
    t.is((await caller.get('/nope')).status, 404);
    t.is((await caller.get('/pets/abc')).status, 400);
  }
  t.is((await caller.get('/pets')).status, 429);
  t.is((await caller.get('/nope')).status, 429); // the limit is checked before the route
  t.deepEqual(
    (await operator.usage(id)).map(({ requests, refused }) => ({ requests, refused })),
    [{ requests: 9n, refused: 2n }],
  );
});

test('limits - a refusal by the daily limit has the time to the end of the day in whole seconds', async (t) => {
  const caller = t.context.rest.withKey(await t.context.operator.keyOf({ perMinute: 5, perDay: 1 }));
  await caller.get('/pets');
  const { status, headers, body } = await caller.get('/pets');
  const midnight = Math.ceil(Date.now() / 86_400_000) * 86_400;
  t.is(status, 429);
  t.is(Number(headers.get('x-ratelimit-reset')), midnight);
  t.is(headers.get('x-ratelimit-limit'), '1');
  t.is(headers.get('x-ratelimit-remaining'), '0');
  const retryAfter = Number(headers.get('retry-after'));
  t.true(Math.abs(retryAfter - (midnight - Date.now() / 1000)) < 5);
  t.is(body.message, `the limit of 1 per day is used up: try again in ${retryAfter} s`);
});

test('limits - 20 refusals within a minute ban the key, and only that key', async (t) => {
  const { rest, operator } = t.context;
  const { id } = await operator.account({ perMinute: 1_000, perDay: 1 });
  const [banned, other] = [(await operator.key(id)).key, (await operator.key(id)).key];
  const caller = rest.withKey(banned);
  const codes: string[] = [];
  for (let i = 0; i < 22; i += 1) codes.push((await caller.get('/pets')).body.code);
  t.deepEqual(codes, [undefined, ...Array(20).fill('RATE_LIMITED'), 'API_KEY_BANNED']);
  const { status, headers } = await caller.get('/pets');
  t.is(status, 429);
  const retryAfter = Number(headers.get('retry-after'));
  t.true(retryAfter > 290 && retryAfter <= 300, String(retryAfter));
  t.is((await rest.withKey(other).get('/pets')).body.code, 'RATE_LIMITED');
});
