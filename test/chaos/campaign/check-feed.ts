/** Checks the feed by itself: every follower has got all of it once and in order, and it rebuilds the shop. */
import { isDeepStrictEqual } from 'node:util';
import { lineOf } from './feed-model.ts';
import {
  type Evidence,
  type FeedEvent,
  type Followed,
  type Lists,
  type Row,
  unless,
  type Violation,
} from './history.ts';

export function checkFeed({ feed, followed, lists }: Pick<Evidence, 'feed' | 'followed' | 'lists'>): Violation[] {
  const listed = { name: 'the list of events', events: feed, failures: [] };
  return [listed, ...followed].flatMap((one) => [
    ...unless(one.failures, `${one.name} could not go on`),
    ...disorder(one),
    ...differences(one, feed),
    ...unlike(one, lists),
  ]);
}

function disorder({ name, events }: Followed): Violation[] {
  const wrong = events.filter((event, index) => event.id <= (events[index - 1]?.id ?? 0)).map(lineOf);
  return unless(wrong, `${name}: ${wrong.length} events out of order`);
}

/** Who began with the lists has what came since. */
function differences({ name, events, lists }: Followed, feed: readonly FeedEvent[]): Violation[] {
  const first = lists === undefined ? 0 : (events[0]?.id ?? Number.POSITIVE_INFINITY);
  const expected = feed.filter(({ id }) => id >= first);
  const [got, there] = [new Set(events.map(lineOf)), new Set(expected.map(lineOf))];
  const [missed, invented] = [[...there.difference(got)], [...got.difference(there)]];
  return [
    ...unless(missed, `${name} missed ${missed.length} events`),
    ...unless(invented, `${name} got what is no event`),
  ];
}

/** The lists, and the field of an event that has a row of each. */
const FIELDS = { pets: 'pet', inventory: 'inventory', categories: 'category', orders: 'order' } as const;

const idOf = (row: Row) => row.id ?? row.petId;

/** The replica rule: who applies the events in order, to nothing or to the lists, has what the GETs say. */
function unlike({ name, events, lists: begin }: Followed, lists: Lists): Violation[] {
  return (Object.keys(FIELDS) as (keyof typeof FIELDS)[]).flatMap((list) => {
    const copy = new Map<unknown, object>(begin?.[list].map((row) => [idOf(row), row]));
    for (const { type, [FIELDS[list]]: row } of events) {
      if (row !== undefined && type.endsWith('.deleted')) copy.delete(idOf(row));
      else if (row !== undefined) copy.set(idOf(row), row);
    }
    const rows = [...copy].sort(([one], [other]) => Number(one) - Number(other)).map(([, row]) => row);
    const wrong = rows.filter((row, index) => !isDeepStrictEqual(row, lists[list][index]));
    if (wrong.length === 0 && rows.length === lists[list].length) return [];
    const title = `a copy made from ${name} has ${rows.length} ${list}, and the GETs ${lists[list].length}`;
    return [{ title, lines: wrong.slice(0, 3).map((row) => JSON.stringify(row)) }];
  });
}
