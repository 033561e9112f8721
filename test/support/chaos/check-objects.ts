/**
 * Checks linearizability: some order of the writes that respects real time explains every response, and the events of
 * the feed.
 */
import { answerOf } from './answers.ts';
import { categoryModel } from './category-model.ts';
import { lineOf as lineOfEvent } from './check-feed.ts';
import type { Violation } from './evidence.ts';
import type { FeedEvent } from './feed.ts';
import { type EndOfFeed, endOfFeed, type RowsOf, rowsOfCategory, rowsOfPet, toldBy, withFeed } from './feed-model.ts';
import { type Call, isTurnedAway, type Request } from './history.ts';
import { linearize, type Model, type Operation } from './linearize.ts';
import { petModel } from './pet-model.ts';
import { shrink } from './shrink.ts';

/** A call as an operation on one object. */
interface Seen extends Operation<Request> {
  readonly call: Call;
}

/** An object, and how to check it. */
interface Checked<State> {
  readonly name: string;
  readonly model: Model<State, Request>;
  readonly rowsOf: RowsOf<State>;
  readonly seen: readonly Seen[];
  /** Its events; undefined when nothing is known of the feed. */
  readonly events: readonly FeedEvent[] | undefined;
}

export interface ObjectsReport {
  readonly violations: readonly Violation[];
  readonly objects: number;
  /** Objects whose histories were too long to decide. */
  readonly undecided: number;
}

/** Without `feed` the responses alone are checked. */
export function checkObjects(calls: readonly Call[], feed?: readonly FeedEvent[]): ObjectsReport {
  const violations: Violation[] = [];
  let undecided = 0;
  const objects = byObject(calls, feed ?? []);
  const told = Map.groupBy(feed ?? [], (event) => toldBy(event).object);
  for (const name of told.keys()) if (!objects.has(name)) objects.set(name, []);
  for (const [name, seen] of objects) {
    const id = Number(name.split(' ')[1]);
    const events = feed && (told.get(name) ?? []);
    const found = name.startsWith('category')
      ? check({ name, model: categoryModel(id), rowsOf: rowsOfCategory(id), seen, events })
      : check({ name, model: petModel(id), rowsOf: rowsOfPet(id), seen, events });
    if (found === 'undecided') undecided += 1;
    else if (found !== undefined) violations.push(found);
  }
  return { violations, objects: objects.size, undecided };
}

/** The events explain the responses too, so these are only checked by themselves when something is wrong. */
function check<State>(checked: Checked<State>): Violation | 'undecided' | undefined {
  const { name, model, rowsOf, seen, events } = checked;
  if (events !== undefined) {
    const all = [...seen, endOfFeed(Math.max(0, ...seen.map(({ call }) => call.endMs)) + 1)];
    const fed = withFeed(model, rowsOf, events);
    const verdict = linearize(fed, all);
    if (verdict !== 'unexplained') return verdict === 'undecided' ? verdict : undefined;
    const wrong = check({ ...checked, events: undefined });
    if (wrong !== undefined) return wrong;
    const title = `no order of the writes explains the events of ${name}`;
    return { title, lines: [...linesOf(fed, all), ...events.map(lineOfEvent)] };
  }
  const verdict = linearize(model, seen);
  if (verdict === 'undecided') return verdict;
  return verdict === 'explained'
    ? undefined
    : { title: `no order of the writes explains ${name}`, lines: linesOf(model, seen) };
}

function linesOf<State>(
  model: Model<State, Request | EndOfFeed>,
  all: readonly (Seen | Operation<EndOfFeed>)[],
): string[] {
  const { operations, others } = shrink<State, Request | EndOfFeed, Seen | Operation<EndOfFeed>>(model, all);
  const doubted = others === 0 ? [] : [`whatever became of ${others} other writes of it`];
  return [...operations.map((one) => ('call' in one ? lineOf(one) : 'then the feed ended')), ...doubted];
}

/** Groups the calls by the pet or category that they are about. */
function byObject(calls: readonly Call[], feed: readonly FeedEvent[]): Map<string, Seen[]> {
  const created = creations(feed);
  const objects = new Map<string, Seen[]>();
  const add = (name: string, seen: Seen) => objects.set(name, [...(objects.get(name) ?? []), seen]);
  for (const call of calls) {
    const { request, outcome } = call;
    if (isTurnedAway(outcome) || (outcome.kind === 'unknown' && !isWrite(call))) continue;
    if (request.do === 'findPets') {
      for (const [name, seen] of eachPet(call, request.petIds)) add(name, seen);
      continue;
    }
    const name = nameOf(call, created);
    if (name === undefined) continue;
    const answer = answerOf(outcome);
    const endMs = answer === undefined ? Number.POSITIVE_INFINITY : call.endMs;
    add(name, { call, request, startMs: call.startMs, endMs, answer, isWrite: isWrite(call) });
  }
  return objects;
}

/** A list of pets is a read of each of them: a pet that is missing from it does not exist. */
function eachPet(call: Call, petIds: readonly number[]): [string, Seen][] {
  const { outcome, startMs, endMs } = call;
  const value = outcome.kind === 'ok' && 'pets' in outcome.value ? outcome.value.pets : undefined;
  if (value === undefined) return [];
  return petIds.map((petId) => {
    const pet = value.find(({ id }) => id === petId);
    const answer = pet === undefined ? 'PET_NOT_FOUND' : answerOf({ kind: 'ok', value: { pet } });
    return [`pet ${petId}`, { call, request: { do: 'getPet', petId }, startMs, endMs, answer, isWrite: false }];
  });
}

/** The objects that the feed says were created, by their names, which are unique. */
function creations(feed: readonly FeedEvent[]): Map<string, string> {
  const created = feed.filter(({ type }) => type === 'pet.created' || type === 'category.created');
  return new Map(created.map((event) => [(event.pet ?? event.category)?.name ?? '', toldBy(event).object]));
}

/** Only the feed knows the id of a creation without a response. */
function nameOf({ request, outcome }: Call, created: ReadonlyMap<string, string>): string | undefined {
  if (request.do === 'createPet' || request.do === 'createCategory') {
    if (outcome.kind !== 'ok') return created.get(request.name);
    if ('pet' in outcome.value) return `pet ${outcome.value.pet.id}`;
    return 'category' in outcome.value ? `category ${outcome.value.category.id}` : undefined;
  }
  if ('petId' in request) return `pet ${request.petId}`;
  return 'categoryId' in request ? `category ${request.categoryId}` : undefined;
}

const READS: readonly Request['do'][] = ['getPet', 'findPets', 'getInventory', 'getOrder', 'listOrders', 'getCategory'];

/** Whether a call may have changed something. */
function isWrite({ request, outcome }: Call): boolean {
  return outcome.kind !== 'refused' && !READS.includes(request.do);
}

function lineOf({ call, answer }: Seen): string {
  const { id, transport, request, startMs, endMs } = call;
  const { do: what, ...fields } = request;
  return `${timeOf(startMs)} to ${timeOf(endMs)} #${id} ${transport} ${what} ${JSON.stringify(fields)}: ${
    answer ?? `no answer (${call.outcome.kind === 'unknown' ? call.outcome.why : 'by then'})`
  }`;
}

/** The time of the day, UTC. */
export function timeOf(ms: number): string {
  return new Date(ms).toISOString().slice(11, 23);
}
