/**
 * What the checker of a chaos run must find: histories that no order of the writes explains, and feeds and followers
 * that miss something. A right history that it refuses is told by the runs.
 */
import test from 'ava';
import { tagToTime } from './campaign/calls.ts';
import { checkAnswers, checkRecovery } from './campaign/check-answers.ts';
import { checkFeed } from './campaign/check-feed.ts';
import { checkObjects } from './campaign/check-objects.ts';
import type { Call, FeedEvent, Order, Outcome, Pet, PetStatus, Request, Value } from './campaign/history.ts';

const DAY_START_MS = Date.UTC(2026, 10, 21);
const PET_ID = 1;
const HOME = 9;

interface Told {
  readonly request: Request;
  readonly outcome: Outcome;
}

/** A call from one second to another. */
function at(startSeconds: number, endSeconds: number, told: Told): Call {
  const [startMs, endMs] = [DAY_START_MS + startSeconds * 1_000, DAY_START_MS + endSeconds * 1_000];
  return { id: Math.round(startSeconds * 1_000), transport: 'REST', startMs, endMs, ...told };
}

const ok = (request: Request, value: Value): Told => ({ request, outcome: { kind: 'ok', value } });
const refused = ({ request }: Told, code: string): Told => ({ request, outcome: { kind: 'refused', code } });
const unanswered = ({ request }: Told): Told => ({ request, outcome: { kind: 'unknown', why: '503 UNAVAILABLE' } });

const pet = (name: string, status: PetStatus = 'available'): Pet => ({ id: PET_ID, name, categoryId: HOME, status });
const order = (tag: number, quantity: number): Order => ({
  ...{ id: 100 + tag, petId: PET_ID, tag },
  ...{ quantity, complete: false },
});
const created = (name: string) => ok({ do: 'createPet', name, categoryId: HOME }, { pet: pet(name) });
const renamed = (name: string) => ok({ do: 'updatePet', petId: PET_ID, name }, { pet: pet(name) });
const seen = (name: string) => ok({ do: 'getPet', petId: PET_ID }, { pet: pet(name) });
const found = (...pets: Pet[]) => ok({ do: 'findPets', petIds: [PET_ID] }, { pets });
const stocked = (quantity: number) =>
  ok({ do: 'setInventory', petId: PET_ID, quantity }, { item: { petId: PET_ID, quantity, status: 'available' } });
const inStock = (quantity: number) =>
  ok({ do: 'getInventory', petId: PET_ID }, { item: { petId: PET_ID, quantity, status: 'available' } });
const placed = (tag: number, quantity: number) =>
  ok({ do: 'placeOrder', petId: PET_ID, tag, quantity, complete: false }, { order: order(tag, quantity) });

const CREATION = at(0, 1, created('Tom'));

const WRONG_ANSWERS: readonly [title: string, ...calls: readonly Call[]][] = [
  ['an acknowledged write is lost', at(2, 3, renamed('Tim')), at(4, 5, seen('Tom'))],
  ['a list lacks a pet that existed throughout', at(2, 3, found())],
  [
    'a read is stale: another had seen the write before',
    ...[at(2, 9, renamed('Tim')), at(3, 4, seen('Tim')), at(5, 6, seen('Tom'))],
  ],
  [
    'an unanswered write happens, and is undone',
    ...[at(2, 3, unanswered(renamed('Tim'))), at(4, 5, seen('Tim')), at(6, 7, seen('Tom'))],
  ],
  ['an unanswered write happens before it was sent', at(2, 3, seen('Tim')), at(4, 5, unanswered(renamed('Tim')))],
  ['a write is refused without a reason', at(2, 3, stocked(2)), at(4, 5, refused(placed(1, 1), 'INSUFFICIENT_STOCK'))],
  ['the last unit is sold twice', at(2, 3, stocked(1)), at(4, 6, placed(1, 1)), at(4, 6, placed(2, 1))],
  ['an order happens twice', at(2, 3, stocked(9)), at(4, 5, unanswered(placed(1, 2))), at(6, 7, inStock(5))],
];

for (const [title, ...calls] of WRONG_ANSWERS) {
  test(`Objects - ${title}: not explained`, (t) => {
    t.is(checkObjects([CREATION, ...calls]).length, 1);
  });
}

test('Objects - many concurrent writes, some unanswered, are decided', (t) => {
  const writes = Array.from({ length: 8 }, (_, index) => at(2, 9, renamed(`Tim ${index}`)));
  const open = Array.from({ length: 4 }, (_, index) => at(2, 9, unanswered(renamed(`Tam ${index}`))));
  t.deepEqual(checkObjects([CREATION, ...writes, ...open, at(10, 11, seen('Tam 3'))]), []);
  t.is(checkObjects([CREATION, ...writes, ...open, at(10, 11, seen('Tom'))]).length, 1);
});

type Untold = Omit<FeedEvent, 'id'>;

function petEvent(change: string, name: string, quantity = 0): Untold {
  return { type: `pet.${change}`, pet: pet(name), inventory: { petId: PET_ID, quantity, status: 'available' } };
}

const CREATED = petEvent('created', 'Tom');
const RENAMED = petEvent('updated', 'Tim');
const CATS: Untold = { type: 'category.created', category: { id: 5, name: 'Cats', description: 'd' } };
const { tag: TAG, ...PLACED } = order(1, 2);
const ORDERED: Untold = { type: 'order.created', order: { ...PLACED, shipDate: tagToTime(TAG).toISOString() } };

const feed = (...events: readonly Untold[]): FeedEvent[] => events.map((event, index) => ({ id: index + 1, ...event }));

test('Events - a feed that tells of each change is explained, also of the rows of one write apart', (t) => {
  const calls = [CREATION, at(2, 3, stocked(5)), at(4, 6, placed(1, 2)), at(4, 6, unanswered(renamed('Tim')))];
  const events = [CREATED, petEvent('updated', 'Tom', 5), ORDERED, petEvent('updated', 'Tim', 5)];
  const all = feed(...events, petEvent('updated', 'Tim', 3));
  t.deepEqual(checkObjects(calls, all), []);
});

const WRONG_FEEDS: readonly [title: string, calls: readonly Call[], events: readonly Untold[]][] = [
  ['an acknowledged change has no event', [CREATION, at(2, 3, renamed('Tim'))], [CREATED]],
  ['an event has no change', [CREATION], [CREATED, RENAMED]],
  [
    'the events of a row have another order than the reads saw',
    [CREATION, at(2, 9, renamed('Tim')), at(2, 9, renamed('Tam')), at(10, 11, seen('Tim'))],
    [CREATED, RENAMED, petEvent('updated', 'Tam')],
  ],
  [
    'one of the rows of a write has no event',
    [CREATION, at(2, 3, stocked(5)), at(4, 6, placed(1, 2))],
    [CREATED, petEvent('updated', 'Tom', 5), petEvent('updated', 'Tom', 3)],
  ],
];

for (const [title, calls, events] of WRONG_FEEDS) {
  test(`Events - ${title}: not explained`, (t) => {
    const titles = checkObjects(calls, feed(...events)).map(({ title }) => title);
    t.deepEqual(titles, ['no order of the writes explains the events of pet 1']);
  });
}

const LISTS = {
  pets: [pet('Tim')],
  inventory: [{ petId: PET_ID, quantity: 0, status: 'available' as const }],
  categories: [{ id: 5, name: 'Cats', description: 'd' }],
  orders: [],
};

test('Followers - an event that is skipped, repeated, too early or invented is found, and so is a failure', (t) => {
  const all = feed(CREATED, RENAMED, CATS);
  const [first, second, third] = all as [FeedEvent, FeedEvent, FeedEvent];
  const wrong = (events: readonly FeedEvent[], more: object = {}, lists = LISTS) =>
    checkFeed({ feed: all, lists, followed: [{ name: 'he', events, failures: [], ...more }] }).map(
      ({ title }) => title,
    );
  t.deepEqual(wrong(all), []);
  t.deepEqual(wrong([first, third]), ['he missed 1 events', 'a copy made from he has 1 pets, and the GETs 1']);
  t.deepEqual(wrong([first, second, second, third]), ['he: 1 events out of order']);
  t.deepEqual(wrong([first, third, second]), ['he: 1 events out of order']);
  t.deepEqual(wrong([...all, { ...CATS, id: 4 }]), ['he got what is no event']);
  t.deepEqual(wrong(all, { failures: ['EVENTS_EXPIRED'] }), ['he could not go on']);
  // Who begins with the lists misses nothing after them.
  for (const events of [[third], []]) t.deepEqual(wrong(events, { lists: LISTS }), []);
  t.is(wrong([third], { lists: { ...LISTS, pets: [pet('Tom')] } }).length, 1);
  t.is(wrong(all, {}, { ...LISTS, categories: [] }).length, 2, 'the list of events itself does not rebuild the shop');
});

const READ = seen('Tom');

test('Service - a wrong response, and a failure long after the last fault, are violations', (t) => {
  t.deepEqual(checkAnswers([at(0, 15, READ)]), []);
  for (const code of ['API_KEY_INVALID', 'INTERNAL']) t.is(checkAnswers([at(0, 1, refused(READ, code))]).length, 1);
  const fault = { name: 'a fault', what: 'something', startMs: DAY_START_MS, endMs: DAY_START_MS + 5_000 };
  const some = { calls: [at(10, 14, unanswered(READ))], faults: [fault] };
  t.is(checkRecovery(some, 10_000).length, 0);
  t.is(checkRecovery(some, 8_000).length, 1);
});
