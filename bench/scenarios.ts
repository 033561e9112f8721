/**
 * What is measured: scenarios, and the variants of the service that each scenario compares. Each variant is a service
 * with a database of its own.
 */
import { PET_PAGES } from '../src/shop/pets/service.ts';
import { CATEGORIES } from './fill.ts';
import { UNIQUE } from './load.ts';

export interface Variant {
  /** Unique. Scenarios share the variants of the same name. */
  readonly name: string;
  readonly pets: number;
  /** More settings of the server. */
  readonly env?: Readonly<Record<string, string>>;
  /** Headers of each request. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly isFloor?: true;
}

export interface Request {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
}

export interface Scenario {
  readonly name: string;
  readonly title: string;
  /** The first one after the floor is what the others are compared with. */
  readonly variants: readonly Variant[];
  /** Returns a random request, so that no row of the database is hot. */
  readonly request: (pets: number) => Request;
  /** Whether the body of a 2xx response is what the request asked for. */
  readonly isExpected: (body: unknown) => boolean;
  /** The most that CPU times may be, for one server on SQLite. */
  readonly bounds?: Bounds;
}

export interface Bounds {
  /** Of 100,000 pets, as a multiple of the floor. */
  readonly floors?: number;
  /** Of another variant, as a multiple of the first. */
  readonly ratio?: number;
  /** Of another variant, in microseconds more than the first. */
  readonly addedUs?: number;
}

const PAGE_SIZE = 20;

const FLOOR: Variant = { name: 'floor', pets: 100_000, isFloor: true };
export const HUNDRED_THOUSAND: Variant = { name: '100,000 pets', pets: 100_000 };
const METRICS: Variant = { name: 'metrics', pets: 100_000, env: { METRICS_PORT: '19464' } };
const IDEMPOTENT: Variant = { name: 'idempotency key', pets: 100_000, headers: { 'idempotency-key': UNIQUE } };
const SIZES = [
  FLOOR,
  { name: '1,000 pets', pets: 1_000 },
  HUNDRED_THOUSAND,
  { name: '1,000,000 pets', pets: 1_000_000 },
];

/**
 * Allows noise, one more level of the B-tree, and pages that SQLite must read from the system. A scan would be more.
 */
const SIZE_RATIO = 1.25;

export const GET: Scenario = {
  name: 'get',
  title: 'GET /pets/{id}, random ids',
  variants: SIZES,
  request: (pets) => get(`/pets/${random(1, pets)}`),
  isExpected: isPet,
  bounds: { floors: 1.35, ratio: SIZE_RATIO },
};

export const POST: Scenario = {
  name: 'post',
  title: 'POST /pets, each durable when it is answered',
  variants: [FLOOR, HUNDRED_THOUSAND],
  request: postPet,
  isExpected: isPet,
  bounds: { floors: 2 },
};

export const SCENARIOS: readonly Scenario[] = [
  GET,
  {
    ...GET,
    name: 'metrics',
    title: 'GET /pets/{id} without and with metrics',
    variants: [HUNDRED_THOUSAND, METRICS],
    bounds: { addedUs: 3 },
  },
  {
    name: 'first-page',
    title: 'GET /pets',
    variants: SIZES,
    request: () => get('/pets'),
    isExpected: isFullPage,
    bounds: { floors: 1.6, ratio: SIZE_RATIO },
  },
  {
    name: 'deep-page',
    title: 'GET /pets?pageToken=…, random places in the second half',
    variants: SIZES,
    request: (pets) => get(`/pets?pageToken=${tokenAfter(random(pets / 2, pets - PAGE_SIZE))}`),
    isExpected: isFullPage,
    bounds: { floors: 2, ratio: SIZE_RATIO },
  },
  {
    name: 'filtered-page',
    title: 'GET /pets?status=…&categoryId=…, one of them or both',
    variants: SIZES,
    request: () => get(`/pets?${randomFilter()}`),
    isExpected: isFullPage,
    bounds: { ratio: SIZE_RATIO },
  },
  POST,
  {
    ...POST,
    name: 'post-with-key',
    title: 'POST /pets without and with an idempotency key, a new one each time',
    variants: [HUNDRED_THOUSAND, IDEMPOTENT],
    bounds: { ratio: 1.3 },
  },
];

function get(path: string): Request {
  return { method: 'GET', path };
}

function postPet(): Request {
  const pet = { name: `Pet ${random(1, 1_000_000)}`, categoryId: random(1, CATEGORIES) };
  return { method: 'POST', path: '/pets', body: JSON.stringify(pet) };
}

function randomFilter(): string {
  const status = `status=${['available', 'pending', 'sold'][random(0, 2)]}`;
  const category = `categoryId=${random(1, CATEGORIES)}`;
  return [status, category, `${status}&${category}`][random(0, 2)] ?? '';
}

function isPet(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'id' in body;
}

/** The floor's page is the gRPC message as Envoy transcodes it. */
function isFullPage(body: unknown): boolean {
  const pets = Array.isArray(body) ? body : (body as { readonly pets?: unknown }).pets;
  return Array.isArray(pets) && pets.length === PAGE_SIZE;
}

function tokenAfter(id: number): string {
  return PET_PAGES.next({ rows: [id], hasMore: true }, BigInt);
}

function random(first: number, last: number): number {
  return first + Math.floor(Math.random() * (last - first + 1));
}
