/** Checks the feed by itself: every follower has got all of it once and in order, and it rebuilds the shop. */
import { isDeepStrictEqual } from 'node:util';
import { type Lists, Replica } from '../replica.ts';
import { lineOf } from './feed-model.ts';
import type { Evidence, FeedEvent, Followed, Violation } from './history.ts';

/** How many lines of a difference are shown. */
const SHOWN = 3;

export function checkFeed({ feed, followed, lists }: Pick<Evidence, 'feed' | 'followed' | 'lists'>): Violation[] {
  const listed = { name: 'the list of events', events: feed, failures: [] };
  return [listed, ...followed].flatMap((one) => [
    ...unless(one.failures, `${one.name} could not go on`),
    ...disorder(one),
    ...differences(one, feed),
    ...unlike(one, lists),
  ]);
}

/** A violation unless there are no such lines. */
function unless(lines: readonly string[], title: string): Violation[] {
  return lines.length === 0 ? [] : [{ title, lines: lines.slice(0, SHOWN) }];
}

function disorder({ name, events }: Followed): Violation[] {
  const wrong = events.filter((event, index) => event.id <= (events[index - 1]?.id ?? 0)).map(lineOf);
  return unless(wrong, `${name}: ${wrong.length} events out of order`);
}

function differences({ name, events }: Followed, feed: readonly FeedEvent[]): Violation[] {
  const [got, there] = [new Set(events.map(lineOf)), new Set(feed.map(lineOf))];
  const [missed, invented] = [[...there.difference(got)], [...got.difference(there)]];
  return [
    ...unless(missed, `${name} missed ${missed.length} events`),
    ...unless(invented, `${name} got what is no event`),
  ];
}

/** The replica rule. */
function unlike({ name, events }: Followed, lists: Lists): Violation[] {
  const replica = new Replica();
  for (const event of events) replica.apply(event);
  const copy = replica.lists();
  return (['pets', 'inventory', 'categories', 'orders'] as const).flatMap((list) => {
    const wrong = copy[list].filter((row, index) => !isDeepStrictEqual(row, lists[list][index]));
    if (wrong.length === 0 && copy[list].length === lists[list].length) return [];
    const title = `a copy made from ${name} has ${copy[list].length} ${list}, and the GETs ${lists[list].length}`;
    return [{ title, lines: wrong.slice(0, SHOWN).map((row) => JSON.stringify(row)) }];
  });
}
