/**
 * What is measured: rows, and the ways that each row is compared in.
 *
 * A way is a stack of its own: so many pets, and settings of the server. To compare with and without something, give a
 * row two ways that differ in `env`.
 */
import { fileURLToPath } from 'node:url';
import { nextPageToken } from '../src/services/page-token.ts';
import { CATEGORIES } from './fill.ts';

/** A whole service with a database of its own, or the floor (floor/stack.ts). */
export interface Way {
  /** Unique: two ways with the same name are the same stack. */
  readonly name: string;
  readonly pets: number;
  /** Settings of the server, beside the usual ones. */
  readonly env?: Readonly<Record<string, string>>;
  /** Another program than the service's own. */
  readonly program?: string;
  readonly isFloor?: true;
  /** Whether each request carries an idempotency key of its own. */
  readonly hasIdempotencyKeys?: true;
}

export interface Request {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
}

export interface Row {
  readonly name: string;
  readonly title: string;
  /** The first is the one that the others are compared with. */
  readonly ways: readonly Way[];
  /** A random request: each is another, so that no row of the database is hot. */
  readonly request: (pets: number) => Request;
  /** Whether a 2xx answer is the one that was asked for. */
  readonly isRight: (answer: unknown) => boolean;
  /** Whether the ways are compared with the floor too. */
  readonly hasFloor?: true;
  readonly target?: Target;
  /** The most that a request may cost in another way, in CPU time: this many times what it does in the first. */
  readonly maxRatio?: number;
  /** The most that a request may cost in another way beyond what it does in the first, in microseconds of CPU time. */
  readonly maxExtraUs?: number;
}

/** How much CPU time a request may cost, server and Envoy together: this many times what the floor takes. */
export interface Target {
  readonly maxFloors: number;
  readonly way: Way;
}

/** What a page has when nothing else is asked for. */
const PAGE = 20;

const FLOOR: Way = { name: 'the floor', pets: 100_000, isFloor: true };
const THOUSAND: Way = { name: '1,000 pets', pets: 1_000 };
const HUNDRED_THOUSAND: Way = { name: '100,000 pets', pets: 100_000 };
const MILLION: Way = { name: '1,000,000 pets', pets: 1_000_000 };
const KEYED: Way = { name: 'an idempotency key', pets: 100_000, hasIdempotencyKeys: true };
const OPEN: Way = {
  name: 'no keys, no limits',
  pets: 100_000,
  program: fileURLToPath(new URL('open-server.ts', import.meta.url)),
};
const METERED: Way = { name: 'metrics', pets: 100_000, env: { METRICS_PORT: '19464' } };
const SIZES = [THOUSAND, HUNDRED_THOUSAND, MILLION];

/** Room for noise, one more level of the B-tree, and pages that SQLite must ask the system for; none for a scan. */
const MAX_RATIO = 1.25;

/** All ways that a row is measured in, the floor first. */
export function waysOf({ ways, hasFloor }: Row): Way[] {
  return hasFloor ? [FLOOR, ...ways] : [...ways];
}

export const ROWS: readonly Row[] = [
  {
    name: 'get',
    title: 'GET /pets/{id}, random ids',
    ways: SIZES,
    request: (pets) => get(`/pets/${randomId(1, pets)}`),
    isRight: isOnePet,
    hasFloor: true,
    target: { maxFloors: 1.35, way: HUNDRED_THOUSAND },
    maxRatio: MAX_RATIO,
  },
  {
    name: 'key-and-limits',
    title: 'GET /pets/{id} without and with the key check and both windows',
    ways: [OPEN, HUNDRED_THOUSAND],
    request: (pets) => get(`/pets/${randomId(1, pets)}`),
    isRight: isOnePet,
    maxExtraUs: 15,
  },
  {
    name: 'metrics',
    title: 'GET /pets/{id} without and with metrics',
    ways: [HUNDRED_THOUSAND, METERED],
    request: (pets) => get(`/pets/${randomId(1, pets)}`),
    isRight: isOnePet,
    maxExtraUs: 3,
  },
  {
    name: 'first-page',
    title: 'GET /pets',
    ways: SIZES,
    request: () => get('/pets'),
    isRight: isFullPage,
    hasFloor: true,
    target: { maxFloors: 1.6, way: HUNDRED_THOUSAND },
    maxRatio: MAX_RATIO,
  },
  {
    name: 'deep-page',
    title: 'GET /pets?pageToken=…, random places in the second half',
    ways: SIZES,
    request: (pets) => get(`/pets?pageToken=${tokenAfter(randomId(pets / 2, pets - PAGE))}`),
    isRight: isFullPage,
    hasFloor: true,
    maxRatio: MAX_RATIO,
  },
  {
    name: 'filtered-page',
    title: 'GET /pets?status=…&categoryId=…, one of them or both',
    ways: SIZES,
    request: () => get(`/pets?${pick(filters())}`),
    isRight: isFullPage,
    hasFloor: true,
    maxRatio: MAX_RATIO,
  },
  {
    name: 'post',
    title: 'POST /pets, each durable when it is answered',
    ways: [HUNDRED_THOUSAND],
    request: postPet,
    isRight: isOnePet,
    hasFloor: true,
    target: { maxFloors: 2, way: HUNDRED_THOUSAND },
  },
  {
    name: 'post-with-key',
    title: 'POST /pets without and with an idempotency key, each time another',
    ways: [HUNDRED_THOUSAND, KEYED],
    request: postPet,
    isRight: isOnePet,
    maxRatio: 1.3,
  },
];

function postPet(): Request {
  const pet = { name: `Pet ${randomId(1, 1_000_000)}`, categoryId: randomId(1, CATEGORIES) };
  return { method: 'POST', path: '/pets', body: JSON.stringify(pet) };
}

function isOnePet(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'id' in answer;
}

function get(path: string): Request {
  return { method: 'GET', path };
}

function filters(): string[] {
  const status = `status=${pick(['available', 'pending', 'sold'])}`;
  const category = `categoryId=${randomId(1, CATEGORIES)}`;
  return [status, category, `${status}&${category}`];
}

/** The floor's page is the gRPC message as the transcoder prints it. */
function isFullPage(answer: unknown): boolean {
  const pets = Array.isArray(answer) ? answer : (answer as { readonly pets?: unknown }).pets;
  return Array.isArray(pets) && pets.length === PAGE;
}

function tokenAfter(id: number): string {
  return nextPageToken('pets', { rows: [id], hasMore: true }, BigInt);
}

function randomId(first: number, last: number): number {
  return first + Math.floor(Math.random() * (last - first + 1));
}

function pick<T>(choices: readonly T[]): T {
  const choice = choices[Math.floor(Math.random() * choices.length)];
  if (choice === undefined) throw new RangeError('there is nothing to pick from');
  return choice;
}
