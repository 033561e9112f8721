/**
 * Checks linearizability: some order of the writes that respects real time explains every response, and the events of
 * the feed.
 */
import { endOfFeed, lineOf as lineOfEvent, toldBy, withFeed } from './feed-model.ts';
import { type Call, type FeedEvent, isTurnedAway, type Request, timeOf, type Violation } from './history.ts';
import { linearize, type Operation } from './linearize.ts';
import { answerOf, petModel } from './pet-model.ts';

/** A call as an operation on one object. */
interface Seen extends Operation<Request> {
  readonly call: Call;
}

/** Without `feed` the responses alone are checked. */
export function checkObjects(calls: readonly Call[], feed?: readonly FeedEvent[]): Violation[] {
  const pets = byPet(calls, feed ?? []);
  const told = Map.groupBy(feed ?? [], (event) => toldBy(event).object);
  for (const petId of told.keys()) if (petId !== undefined && !pets.has(petId)) pets.set(petId, []);
  return [...pets].flatMap(([petId, seen]) => check(petId, seen, feed && (told.get(petId) ?? [])) ?? []);
}

/** The events explain the responses too, so these are only checked by themselves when something is wrong. */
function check(petId: number, seen: readonly Seen[], events?: readonly FeedEvent[]): Violation | undefined {
  const endMs = Math.max(0, ...seen.map(({ call }) => call.endMs)) + 1;
  const verdict =
    events === undefined
      ? linearize(petModel(petId), seen)
      : linearize(withFeed(petId, events), [...seen, endOfFeed(endMs)]);
  if (verdict === 'explained') return undefined;
  if (verdict === 'undecided') return { title: `the history of pet ${petId} is too long to decide`, lines: [] };
  const lines = seen.toSorted((one, other) => one.startMs - other.startMs).map(lineOf);
  if (events === undefined) return { title: `no order of the writes explains pet ${petId}`, lines };
  const title = `no order of the writes explains the events of pet ${petId}`;
  return check(petId, seen) ?? { title, lines: [...lines, ...events.map(lineOfEvent)] };
}

/** Groups the calls by the pet that they are about. */
function byPet(calls: readonly Call[], feed: readonly FeedEvent[]): Map<number, Seen[]> {
  // Only the feed knows the id of a creation without a response. Names are unique.
  const created = new Map(feed.map(({ type, pet }) => [type === 'pet.created' ? pet?.name : undefined, pet?.id]));
  const pets = new Map<number, Seen[]>();
  const add = (petId: number, seen: Seen) => pets.set(petId, [...(pets.get(petId) ?? []), seen]);
  for (const call of calls) {
    const { request, outcome, startMs } = call;
    if (isTurnedAway(outcome) || (outcome.kind === 'unknown' && !isWrite(call))) continue;
    if (request.do === 'findPets') {
      for (const [petId, seen] of eachPet(call, request.petIds)) add(petId, seen);
      continue;
    }
    const knownId = outcome.kind === 'ok' && 'pet' in outcome.value ? outcome.value.pet.id : undefined;
    const petId = request.do === 'createPet' ? (knownId ?? created.get(request.name)) : request.petId;
    if (petId === undefined) continue;
    const answer = answerOf(outcome);
    const endMs = answer === undefined ? Number.POSITIVE_INFINITY : call.endMs;
    add(petId, { call, request, startMs, endMs, answer, isWrite: isWrite(call) });
  }
  return pets;
}

/** A list of pets is a read of each of them: a pet that is missing from it does not exist. */
function eachPet(call: Call, petIds: readonly number[]): [number, Seen][] {
  const { outcome, startMs, endMs } = call;
  const value = outcome.kind === 'ok' && 'pets' in outcome.value ? outcome.value.pets : undefined;
  return petIds.map((petId) => {
    const pet = value?.find(({ id }) => id === petId);
    const refusal = outcome.kind === 'refused' ? outcome.code : 'PET_NOT_FOUND';
    const answer = pet === undefined ? refusal : answerOf({ kind: 'ok', value: { pet } });
    return [petId, { call, request: { do: 'getPet', petId }, startMs, endMs, answer, isWrite: false }];
  });
}

const READS: readonly Request['do'][] = ['getPet', 'findPets', 'getInventory', 'getOrder', 'listOrders'];

/** Whether a call may have changed something. */
function isWrite({ request, outcome }: Call): boolean {
  return outcome.kind !== 'refused' && !READS.includes(request.do);
}

function lineOf({ call, answer }: Seen): string {
  const { id, transport, request, startMs, endMs, outcome } = call;
  const { do: what, ...fields } = request;
  const said = answer ?? `no answer (${outcome.kind === 'unknown' ? outcome.why : ''})`;
  return `${timeOf(startMs)} to ${timeOf(endMs)} #${id} ${transport} ${what} ${JSON.stringify(fields)}: ${said}`;
}
