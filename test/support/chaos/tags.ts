/** A client tells its orders apart by a number that it sends as their ship date: so it knows them, answered or not. */

const FIRST_MS = Date.UTC(2030, 0, 1);

export function tagToTime(tag: number): Date {
  return new Date(FIRST_MS + tag * 1_000);
}

export function timeToTag(time: Date): number {
  return (time.getTime() - FIRST_MS) / 1_000;
}
