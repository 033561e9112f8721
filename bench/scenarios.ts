/**
 * What is measured. Each scenario is a table of variants of the service, each with a database of its own; a variant is
 * compared with the one before it.
 */
import { PET_PAGES } from '../src/shop/pets/service.ts';
import { CATEGORIES } from './fill.ts';

export interface Variant {
  /** Unique. Scenarios share the variants of the same name. */
  readonly name: string;
  readonly pets: number;
  /** More settings of the server. */
  readonly env?: Readonly<Record<string, string>>;
  /** More headers of each request. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly isFloor?: true;
}

/** The figures of a round that are compared, and their titles. */
export const COMPARED = { perSecond: 'requests/s', cpuUs: 'µs', p50Ms: 'p50', p99Ms: 'p99' };

/** A figure as a multiple of the variant's before it: at the least for `perSecond`, at the most for the others. */
export type Bounds = Readonly<Partial<Record<keyof typeof COMPARED, number>>>;

export interface Request {
  readonly path: string;
  /** Without one it is a GET, with one a POST. */
  readonly body?: string;
}

export interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly variants: readonly Variant[];
  /** By the names of variants, for one server on SQLite and 64 connections. */
  readonly bounds: Readonly<Record<string, Bounds>>;
  /** Returns a random request, so that no row of the database is hot. */
  readonly request: (pets: number) => Request;
  /** Whether the body of a 2xx response is what the request asked for. */
  readonly isExpected: (body: unknown) => boolean;
}

const PAGE_SIZE = 20;

const FLOOR: Variant = { name: 'floor', pets: 100_000, isFloor: true };
export const SERVICE: Variant = { name: 'service', pets: 100_000 };
const METRICS: Variant = { name: 'metrics', pets: 100_000, env: { METRICS_PORT: '19464' } };
const KEYS: Variant = { name: 'idempotency key', pets: 100_000, headers: { 'idempotency-key': 'UNIQUE' } };
const MILLION: Variant = { name: '1,000,000 pets', pets: 1_000_000 };
const SIZES = [FLOOR, SERVICE, MILLION];
/** Allows noise, one more level of the B-tree, and pages that SQLite must read from the system. A scan costs more. */
const OF_SIZE = { [MILLION.name]: { cpuUs: 1.25 } };

export const GET: Scenario = {
  name: 'get',
  title: 'GET /pets/{id}, random ids',
  variants: SIZES,
  bounds: { [SERVICE.name]: { perSecond: 0.9, cpuUs: 1.55, p50Ms: 1.15, p99Ms: 1.25 }, ...OF_SIZE },
  request: (pets) => ({ path: `/pets/${random(1, pets)}` }),
  isExpected: isPet,
};

export const POST: Scenario = {
  name: 'post',
  title: 'POST /pets, each durable when it is answered; then with a new idempotency key each time',
  variants: [FLOOR, SERVICE, KEYS],
  bounds: { [SERVICE.name]: { perSecond: 0.65, cpuUs: 1.9 } },
  request: () => {
    const pet = { name: `Pet ${random(1, 1_000_000)}`, categoryId: random(1, CATEGORIES) };
    return { path: '/pets', body: JSON.stringify(pet) };
  },
  isExpected: isPet,
};

export const SCENARIOS: readonly Scenario[] = [
  GET,
  {
    ...GET,
    name: 'metrics',
    title: 'GET /pets/{id} without and with metrics',
    variants: [SERVICE, METRICS],
    bounds: {},
  },
  {
    name: 'first-page',
    title: 'GET /pets',
    variants: SIZES,
    bounds: { [SERVICE.name]: { perSecond: 0.9, cpuUs: 1.35 }, ...OF_SIZE },
    request: () => ({ path: '/pets' }),
    isExpected: isFullPage,
  },
  {
    name: 'deep-page',
    title: 'GET /pets?pageToken=…, random places in the second half',
    variants: SIZES,
    bounds: OF_SIZE,
    request: (pets) => ({ path: `/pets?pageToken=${tokenAfter(random(pets / 2, pets - PAGE_SIZE))}` }),
    isExpected: isFullPage,
  },
  {
    name: 'filtered-page',
    title: 'GET /pets?status=…&categoryId=…, one of them or both',
    variants: SIZES,
    bounds: OF_SIZE,
    request: () => ({ path: `/pets?${randomFilter()}` }),
    isExpected: isFullPage,
  },
  POST,
];

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
