/** A client identifies its orders by a number, sent as their ship date, so that it knows them without a response. */

const FIRST_MS = Date.UTC(2030, 0, 1);

export function tagToTime(tag: number): Date {
  return new Date(FIRST_MS + tag * 1_000);
}

export function timeToTag(time: Date): number {
  return (time.getTime() - FIRST_MS) / 1_000;
}
