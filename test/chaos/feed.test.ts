/** The checker of events accepts a feed only if the calls explain it, and a follower only if he has got all of it. */
import test from 'ava';
import { tagToTime } from '../support/chaos/calls.ts';
import { checkFeed } from '../support/chaos/check-feed.ts';
import { checkObjects } from '../support/chaos/check-objects.ts';
import type { Call, FeedEvent } from '../support/chaos/history.ts';
import {
  at,
  created,
  deleted,
  evidence,
  order,
  pet,
  placed,
  renamed,
  seen,
  stocked,
  unanswered,
} from '../support/chaos/history-builder.ts';

const CREATION = at(0, 1, created('Tom'));

type Untold = Omit<FeedEvent, 'id'>;

function petEvent(change: string, name: string, quantity = 0): Untold {
  const tom = pet(name);
  return { type: `pet.${change}`, pet: tom, inventory: { petId: tom.id, quantity, status: tom.status } };
}

function orderEvent(tag: number, quantity: number): Untold {
  const { id, petId, complete } = order(tag, quantity);
  return { type: 'order.created', order: { id, petId, quantity, complete, shipDate: tagToTime(tag).toISOString() } };
}

const CREATED = petEvent('created', 'Tom');
const RENAMED = petEvent('updated', 'Tim');
const KIND: Untold = { type: 'category.created', category: { id: 5, name: 'Cats', description: 'd' } };

function feed(...events: readonly Untold[]): FeedEvent[] {
  return events.map((event, index) => ({ id: index + 1, ...event }));
}

const EXPLAINED: readonly [title: string, calls: readonly Call[], events: readonly Untold[]][] = [
  ['each change has its event', [CREATION, at(2, 3, renamed('Tim'))], [CREATED, RENAMED]],
  ['a write that changed nothing has none', [CREATION, at(2, 3, renamed('Tom'))], [CREATED]],
  ['an unanswered write has one', [CREATION, at(2, 3, unanswered(renamed('Tim')))], [CREATED, RENAMED]],
  ['an unanswered write has none', [CREATION, at(2, 3, unanswered(renamed('Tim')))], [CREATED]],
  ['only the feed tells of an unanswered creation', [at(0, 1, unanswered(created('Tom')))], [CREATED]],
  [
    'concurrent writes have either order',
    [CREATION, at(2, 5, renamed('Tim')), at(2, 5, renamed('Tam'))],
    [CREATED, petEvent('updated', 'Tam'), RENAMED],
  ],
  [
    'the rows of one write are apart in the feed',
    [CREATION, at(2, 3, stocked(5)), at(4, 6, placed(1, 2)), at(4, 6, placed(2, 1))],
    [
      ...[CREATED, petEvent('updated', 'Tom', 5), orderEvent(2, 1), orderEvent(1, 2)],
      ...[petEvent('updated', 'Tom', 3), petEvent('updated', 'Tom', 2)],
    ],
  ],
  ['a deletion tells what was there', [CREATION, at(2, 3, deleted)], [CREATED, petEvent('deleted', 'Tom')]],
];

for (const [title, calls, events] of EXPLAINED) {
  test(`Events - ${title}: explained`, (t) => {
    t.deepEqual(checkObjects(calls, feed(...events)), { violations: [], objects: 1, undecided: 0 });
  });
}

const UNEXPLAINED: typeof EXPLAINED = [
  ['an acknowledged change has no event', [CREATION, at(2, 3, renamed('Tim'))], [CREATED]],
  ['an acknowledged creation has no event', [CREATION], []],
  ['an event has no change', [CREATION], [CREATED, RENAMED]],
  ['a change has two events', [CREATION, at(2, 3, renamed('Tim'))], [CREATED, RENAMED, RENAMED]],
  ['an event is about what nobody asked for', [], [CREATED]],
  [
    'the events of a row have another order than its changes',
    [CREATION, at(2, 3, renamed('Tim')), at(4, 5, renamed('Tam'))],
    [CREATED, petEvent('updated', 'Tam'), RENAMED],
  ],
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
  [
    'a read saw an unanswered write that has no event',
    [CREATION, at(2, 3, unanswered(renamed('Tim'))), at(4, 5, seen('Tim'))],
    [CREATED],
  ],
  ['an event tells another state', [CREATION, at(2, 3, renamed('Tim'))], [CREATED, petEvent('updated', 'Tim', 1)]],
];

for (const [title, calls, events] of UNEXPLAINED) {
  test(`Events - ${title}: not explained`, (t) => {
    const { violations } = checkObjects(calls, feed(...events));
    t.is(violations.length, 1);
    t.regex(violations[0]?.title ?? '', /^no order of the writes explains the events of /);
  });
}

const FEED = feed(CREATED, RENAMED, KIND);
const LISTS = {
  pets: [pet('Tim')],
  inventory: [{ petId: 1, quantity: 0, status: 'available' }],
  categories: [{ id: 5, name: 'Cats', description: 'd' }],
  orders: [],
};

/** The titles of what is wrong with a follower who has got this. */
function wrong(events: readonly FeedEvent[], failures: readonly string[] = []): string[] {
  const followed = [{ name: 'he', events, failures }];
  return checkFeed(evidence({ feed: FEED, lists: LISTS, followed })).map(({ title }) => title);
}

const [first, second, third] = FEED as [FeedEvent, FeedEvent, FeedEvent];

test('Followers - one who has got everything once and in order has what the GETs say', (t) => {
  t.deepEqual(wrong(FEED), []);
});

test('Followers - an event that is skipped, repeated, too early or invented is a violation', (t) => {
  t.deepEqual(wrong([first, third]), ['he missed 1 events', 'a copy made from he has 1 pets, and the GETs 1']);
  t.deepEqual(wrong([first, second, second, third]), ['he: 1 events out of order']);
  t.deepEqual(wrong([first, third, second]), ['he: 1 events out of order']);
  t.deepEqual(wrong([...FEED, { ...KIND, id: 4 }]), ['he got what is no event']);
});

test('Followers - one who could not go on is a violation', (t) => {
  t.deepEqual(wrong(FEED, ['EVENTS_EXPIRED']), ['he could not go on']);
});

test('Replica rule - a shop that the feed does not rebuild is a violation', (t) => {
  for (const categories of [[], [...LISTS.categories, { id: 6, name: 'Dogs' }]]) {
    t.is(checkFeed(evidence({ feed: FEED, lists: { ...LISTS, categories } })).length, 1);
  }
});
