/** Checks linearizability: some order of the writes that respects real time explains every response. */
import { answerOf } from './answers.ts';
import { categoryModel } from './category-model.ts';
import type { Violation } from './evidence.ts';
import { type Call, isTurnedAway, type Request } from './history.ts';
import { linearize, type Model, type Operation } from './linearize.ts';
import { petModel } from './pet-model.ts';
import { shrink } from './shrink.ts';

/** A call as an operation on one object. */
interface Seen extends Operation<Request> {
  readonly call: Call;
}

export interface ObjectsReport {
  readonly violations: readonly Violation[];
  readonly objects: number;
  /** Objects whose histories were too long to decide. */
  readonly undecided: number;
}

export function checkObjects(calls: readonly Call[]): ObjectsReport {
  const violations: Violation[] = [];
  let undecided = 0;
  const objects = byObject(calls);
  for (const [name, seen] of objects) {
    const id = Number(name.split(' ')[1]);
    const found = name.startsWith('pet') ? check(name, petModel(id), seen) : check(name, categoryModel(id), seen);
    if (found === 'undecided') undecided += 1;
    else if (found !== undefined) violations.push(found);
  }
  return { violations, objects: objects.size, undecided };
}

function check<State>(name: string, model: Model<State, Request>, seen: readonly Seen[]) {
  const verdict = linearize(model, seen);
  if (verdict === 'undecided') return verdict;
  if (verdict === 'explained') return undefined;
  const { operations, others } = shrink(model, seen);
  const doubted = others === 0 ? [] : [`whatever became of ${others} other writes of it`];
  return { title: `no order of the writes explains ${name}`, lines: [...operations.map(lineOf), ...doubted] };
}

/** Groups the calls by the pet or category that they are about. */
function byObject(calls: readonly Call[]): Map<string, Seen[]> {
  const objects = new Map<string, Seen[]>();
  const add = (name: string, seen: Seen) => objects.set(name, [...(objects.get(name) ?? []), seen]);
  for (const call of calls) {
    const { request, outcome } = call;
    if (isTurnedAway(outcome) || (outcome.kind === 'unknown' && !isWrite(call))) continue;
    if (request.do === 'findPets') {
      for (const [name, seen] of eachPet(call, request.petIds)) add(name, seen);
      continue;
    }
    const name = nameOf(call);
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

/** Undefined for a creation without a response: no client knows its id. */
function nameOf({ request, outcome }: Call): string | undefined {
  if (request.do === 'createPet' || request.do === 'createCategory') {
    if (outcome.kind !== 'ok') return undefined;
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
