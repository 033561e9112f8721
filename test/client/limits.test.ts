import anyTest, { type TestFn } from 'ava';
import { createClient, type PetstoreClient, PetstoreError } from '../../src/client/index.ts';
import { withinOneMinute } from '../support/limit-windows.ts';
import { connectOperator, type Operator } from '../support/operator.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';

const test = anyTest as TestFn<TestStack & { operator: Operator }>;

const MINUTE_MS = 60_000;
const LIMITS = { perMinute: 5, perDay: 1_000 };
/** The number of refusals within a minute that ban a key, by the contract. */
const BAN = 20;

test.before(async (t) => {
  const stack = await startTestStack();
  t.context = { ...stack, operator: await connectOperator(stack) };
});
test.after.always(async ({ context }) => {
  context.operator.close();
  await context.close();
});

/** Makes calls at once and counts them by outcome. */
async function outcomes(client: PetstoreClient, calls: number, timeoutMs: number): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const ends = Array.from({ length: calls }, () =>
    client.pets.listPets({}, { timeoutMs }).then(
      () => 'OK',
      (error: unknown) => (error instanceof PetstoreError ? error.code : String(error)),
    ),
  );
  for (const end of await Promise.all(ends)) counts[end] = (counts[end] ?? 0) + 1;
  return counts;
}

async function used({ operator }: { operator: Operator }, accountId: bigint) {
  const days = await operator.usage(accountId); // two days around midnight
  const sum = (field: 'requests' | 'refused') => days.reduce((total, day) => total + Number(day[field]), 0);
  return { requests: sum('requests'), refused: sum('refused') };
}

test('limits - a client past its minute limit waits for Retry-After and finishes without a ban', async (t) => {
  t.timeout(3 * MINUTE_MS);
  const { operator, grpcAddress } = t.context;
  const { id } = await operator.account(LIMITS);
  const client = createClient({ address: grpcAddress, apiKey: (await operator.key(id)).key });
  await withinOneMinute(2_000);
  const startMs = Date.now();
  t.deepEqual(await outcomes(client, 2 * LIMITS.perMinute, 2.5 * MINUTE_MS), { OK: 10 });
  const nextMinuteMs = (Math.floor(startMs / MINUTE_MS) + 1) * MINUTE_MS;
  t.true(Date.now() >= nextMinuteMs, 'the second five pass only in the next minute');
  t.true(Date.now() < nextMinuteMs + 10_000, 'they were sent when the minute began');
  const { requests, refused } = await used(t.context, id);
  t.is(requests, 10);
  t.true(refused >= 1 && refused < BAN / 2, `${refused} refusals`);
  await client.close();
});

test('limits - calls whose deadline is before Retry-After fail at once, nearly all without a request', async (t) => {
  const { operator, grpcAddress } = t.context;
  const { id } = await operator.account(LIMITS);
  const { key } = await operator.key(id);
  const client = createClient({ address: grpcAddress, apiKey: key });
  await withinOneMinute(5_000);
  const startMs = performance.now();
  t.deepEqual(await outcomes(client, 100, 2_000), { OK: 5, RATE_LIMITED: 95 });
  t.true(performance.now() - startMs < 1_500);
  const { requests, refused } = await used(t.context, id);
  t.is(requests, 5);
  t.true(refused >= 1 && refused < BAN / 2, `${refused} refusals`);

  t.deepEqual(await outcomes(client, 100, 2_000), { RATE_LIMITED: 100 });
  t.deepEqual(await used(t.context, id), { requests, refused }, 'none of them was sent');
  await client.close();
});

test('limits - a refusal says when to retry, through the public port too', async (t) => {
  const { operator, grpcAddress, publicAddress } = t.context;
  for (const address of [grpcAddress, publicAddress]) {
    const client = createClient({ address, apiKey: await operator.keyOf({ perMinute: 1, perDay: 1_000 }) });
    await withinOneMinute(2_000);
    await client.pets.listPets({});
    const error = await t.throwsAsync(client.pets.listPets({}, { timeoutMs: 1_000 }), { instanceOf: PetstoreError });
    t.like(error, { code: 'RATE_LIMITED', grpcStatus: 8 });
    const { retryAfterMs = 0 } = error ?? {};
    t.true(retryAfterMs > 0 && retryAfterMs <= MINUTE_MS, String(retryAfterMs));
    t.regex(error?.message ?? '', /: try again in \d+ s$/);
    await client.close();
  }
});

test('limits - a call that waits for the next minute ends when its signal aborts', async (t) => {
  const { operator, grpcAddress } = t.context;
  const client = createClient({ address: grpcAddress, apiKey: await operator.keyOf({ perMinute: 1, perDay: 1_000 }) });
  await withinOneMinute(3_000);
  await client.pets.listPets({});
  const signal = AbortSignal.timeout(300);
  const error = await client.pets.listPets({}, { timeoutMs: 10 * MINUTE_MS, signal }).catch((reason) => reason);
  t.is(error, signal.reason);
  await client.close();
});

test('limits - a banned key gets API_KEY_BANNED and the time until the ban ends', async (t) => {
  const { operator, grpcAddress } = t.context;
  const client = createClient({ address: grpcAddress, apiKey: await operator.keyOf(LIMITS), maxInFlight: 40 });
  await withinOneMinute(2_000);
  const counts = await outcomes(client, 40, 1_000); // more than the default of maxInFlight allows
  t.is(counts.OK, 5);
  t.true((counts.API_KEY_BANNED ?? 0) > 0, JSON.stringify(counts));
  const error = await t.throwsAsync(client.pets.listPets({}), { instanceOf: PetstoreError, code: 'API_KEY_BANNED' });
  t.true((error?.retryAfterMs ?? 0) > 4 * MINUTE_MS);
  await client.close();
});
