/** GET /events/stream: server-sent events. */
import anyTest, { type TestFn } from 'ava';
import { openEvents } from '../../support/event-source.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';

const test = anyTest as TestFn<TestStack>;

test.before(async (t) => {
  t.context = await startTestStack({ EVENT_STREAMS: '50' });
});
test.after.always((t) => t.context.close());

const urlOf = ({ rest }: TestStack, query = '') => `${rest.url}/events/stream${query}`;

test('Stream - is text/event-stream; first comes ready, whose id is where the feed stands, and retry', async (t) => {
  const { key, rest } = t.context;
  await rest.category();
  const stream = await openEvents(urlOf(t.context), key);
  t.is(stream.response.status, 200);
  t.is(stream.response.headers.get('content-type'), 'text/event-stream');
  t.regex(stream.response.headers.get('x-ratelimit-remaining') ?? '', /^\d+$/);
  const ready = await stream.next();
  t.is(ready?.event, 'ready');
  t.is(ready?.retry, '2000');
  t.true(Number(ready?.id) >= 1);
  stream.close();
});

test('Stream - each event has id, event and data, which is the Event as JSON', async (t) => {
  const { key, rest } = t.context;
  const stream = await openEvents(urlOf(t.context, '?types=category.created'), key);
  await stream.next();
  const id = await rest.category('Line\u2028break "quoted" \u{1f408}');
  for (;;) {
    const [event] = await stream.take(1);
    if (event?.data.category.id !== id) continue;
    t.is(event.event, 'category.created');
    t.is(event.id, String(event.data.id));
    t.deepEqual(event.data.category, { id, name: 'Line\u2028break "quoted" \u{1f408}' });
    t.deepEqual(Object.keys(event.data), ['id', 'type', 'time', 'category']);
    break;
  }
  stream.close();
});

test('Stream - goes on after Last-Event-ID, which wins, or after; with neither it begins now', async (t) => {
  const { key, rest } = t.context;
  const petId = await rest.pet({});
  for (let quantity = 1; quantity <= 3; quantity += 1) await rest.put(`/store/inventory/${petId}`, { quantity });
  const all = await openEvents(urlOf(t.context, '?after=0&types=pet.updated'), key);
  const ofPet = async (stream: typeof all, count: number) => {
    const found = [];
    while (found.length < count) {
      const [event] = await stream.take(1);
      if (event?.data.pet.id === petId) found.push(event);
    }
    return found;
  };
  const [first, second] = await ofPet(all, 3);
  const after = await openEvents(urlOf(t.context, `?after=${first?.id}&types=pet.updated`), key);
  t.deepEqual(
    (await ofPet(after, 2)).map((event) => event?.data.inventory.quantity),
    [2, 3],
  );
  const last = await openEvents(urlOf(t.context, `?after=${first?.id}&types=pet.updated`), key, {
    'last-event-id': String(second?.id),
  });
  t.deepEqual(
    (await ofPet(last, 1)).map((event) => event?.data.inventory.quantity),
    [3],
  );
  for (const stream of [all, after, last]) stream.close();
});

test('Stream - a Last-Event-ID that is no id is a 400, whatever its shape', async (t) => {
  const { key } = t.context;
  for (const id of ['x', '-1', '1.5', '1e3', '9223372036854775808', '1,2', '0x10', '9'.repeat(5_000)]) {
    const { response } = await openEvents(urlOf(t.context), key, { 'last-event-id': id });
    t.is(response.status, 400, id.slice(0, 30));
    t.is(((await response.json()) as { code: string }).code, 'INVALID_ARGUMENT');
  }
});

test('Stream - a comment comes every 15 s while nothing happens, and tells how far the feed has come', async (t) => {
  t.timeout(60_000);
  const { key } = t.context;
  const stream = await openEvents(urlOf(t.context, '?types=order.deleted'), key);
  const ready = await stream.next();
  const beganMs = performance.now();
  const comment = await stream.next();
  t.not(comment?.comment, undefined);
  t.true(Number(comment?.id) >= Number(ready?.id));
  const tookMs = performance.now() - beganMs;
  t.true(tookMs > 14_000, `${tookMs}`);
  stream.close();
});

test('Stream - without a valid key it is a 401, and the path is not known to others', async (t) => {
  const { response } = await openEvents(urlOf(t.context), 'pst_wrong');
  t.is(response.status, 401);
});
