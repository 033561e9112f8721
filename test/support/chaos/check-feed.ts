/** Checks the feed by itself: every follower has got all of it once and in order, and it rebuilds the shop. */
import { isDeepStrictEqual } from 'node:util';
import { type Lists, Replica } from '../replica.ts';
import type { Evidence, Violation } from './evidence.ts';
import type { FeedEvent, Followed } from './feed.ts';
import { toldBy } from './feed-model.ts';

/** How many lines of a difference are shown. */
const SHOWN = 3;

export function checkFeed({ feed, followed, lists }: Pick<Evidence, 'feed' | 'followed' | 'lists'>): Violation[] {
  const listed = { name: 'the list of events', events: feed, failures: [] };
  return [listed, ...followed].flatMap((one) => [
    ...one.failures.map((failure) => ({ title: `${one.name} could not go on`, lines: [failure] })),
    ...disorder(one),
    ...differences(one, feed),
    ...unlike(one, lists),
  ]);
}

function disorder({ name, events }: Followed): Violation[] {
  const wrong = events.flatMap((event, index) => {
    const previous = events[index - 1];
    return previous === undefined || previous.id < event.id ? [] : [`${lineOf(event)} came after ${previous.id}`];
  });
  return wrong.length === 0 ? [] : [{ title: `${name}: ${wrong.length} events out of order`, lines: some(wrong) }];
}

function differences({ name, events }: Followed, feed: readonly FeedEvent[]): Violation[] {
  const [got, there] = [new Set(events.map(lineOf)), new Set(feed.map(lineOf))];
  const [missed, invented] = [[...there.difference(got)], [...got.difference(there)]];
  return [
    ...(missed.length === 0 ? [] : [{ title: `${name} missed ${missed.length} events`, lines: some(missed) }]),
    ...(invented.length === 0 ? [] : [{ title: `${name} got what is no event`, lines: some(invented) }]),
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
    return [{ title, lines: some(wrong.map((row) => JSON.stringify(row))) }];
  });
}

/** An event as a line of a report. */
export function lineOf(event: FeedEvent): string {
  const [kind] = event.type.split('.');
  return `event ${event.id}: ${kind} ${toldBy(event).text}`;
}

function some(lines: readonly string[]): string[] {
  return lines.length > SHOWN ? [...lines.slice(0, SHOWN), `and ${lines.length - SHOWN} more`] : [...lines];
}
