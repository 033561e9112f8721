/**
 * What must be true of the service after each run, whatever failed in it: it is built from the events alone, and holds
 * what they say against what the service says.
 */
import { isDeepStrictEqual } from 'node:util';
import { LISTS, PUBLIC, type PublicOperation } from '../support/contract/resources.ts';
import type { Answer, Caller } from './caller.ts';

type Json = Answer['body'];
const show = (value: unknown) => JSON.stringify(value);

/** `pet` for PetService. */
export const kindOf = ({ service }: PublicOperation) => service.replace(/Service$/, '').toLowerCase();
/** The operations that read one resource, by its kind. */
export const READS = new Map(PUBLIC.filter((one) => one.isTagged && one.isRead).map((one) => [kindOf(one), one]));
export const idOf = (resource: Json): string => resource.id ?? Object.values(resource)[0];

/** The kinds and resources of an event. */
function* resourcesOf(event: Json): Generator<readonly [string, Json]> {
  for (const [kind, resource] of Object.entries(event)) if (READS.has(kind)) yield [kind, resource];
}

export class Oracle {
  readonly #caller: Caller;
  /** By kind and id, what the events say of each resource. */
  readonly #replica = new Map([...READS.keys()].map((kind) => [kind, new Map<string, Json>()]));
  #cursor = '0';

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** The id of the last event that it has read. */
  get cursor(): string {
    return this.#cursor;
  }

  /** Reads the events since the last time. Throws unless each has an id above the one before. */
  async catchUp(): Promise<readonly Json[]> {
    const read: Json[] = [];
    for (let next: string | undefined = this.#cursor; next !== undefined; ) {
      const page: Json = await this.#caller.get(`/events?after=${next}&limit=100`);
      for (const event of page.events ?? []) {
        if (BigInt(event.id) <= BigInt(this.#cursor)) throw new Error(`event ${event.id} comes after ${this.#cursor}`);
        this.#cursor = event.id;
        for (const [kind, resource] of resourcesOf(event)) this.#apply(kind, resource, event.type.endsWith('.deleted'));
        read.push(event);
      }
      next = page.nextAfter === '0' ? undefined : page.nextAfter;
    }
    return read;
  }

  /** Throws unless the resources of these events are what the last event of each says. */
  async checkResources(events: readonly Json[]): Promise<void> {
    const named = events.flatMap((event) => [...resourcesOf(event)].map(([kind, one]) => `${kind} ${idOf(one)}`));
    for (const name of new Set(named)) {
      const [kind = '', id = ''] = name.split(' ');
      const path = READS.get(kind)?.template.replace(/\{\w+\}/, id) ?? '';
      const { code, body } = await this.#caller.send({ method: 'GET', path });
      const expected = this.#replica.get(kind)?.get(id);
      const found = code === 'OK' ? body : undefined;
      if (!isDeepStrictEqual(found, expected)) throw new Error(`${path}: ${show({ code, body, expected })}`);
    }
  }

  /** Throws unless every list has what the events say, and nothing else. */
  async checkLists(): Promise<void> {
    for (const list of LISTS) {
      const found = new Map<string, Json>();
      for (let token: string | undefined = ''; token !== undefined; ) {
        const page: Json = await this.#caller.get(`${list.template}?limit=100&pageToken=${token}`);
        const rows = Object.values(page).find(Array.isArray) ?? [];
        for (const row of rows) found.set(idOf(row), row);
        token = page.nextPageToken || undefined;
      }
      const expected = this.#replica.get(kindOf(list)) ?? new Map();
      for (const id of new Set([...found.keys(), ...expected.keys()])) {
        const [row, said] = [found.get(id), expected.get(id)];
        if (!isDeepStrictEqual(row, said)) throw new Error(`${list.template} ${id}: ${show({ row, said })}`);
      }
    }
  }

  #apply(kind: string, resource: Json, isDeleted: boolean): void {
    const resources = this.#replica.get(kind);
    if (isDeleted) resources?.delete(idOf(resource));
    else resources?.set(idOf(resource), resource);
  }
}

/** What a run has changed and answered, as it is the same in every run: without times, ids by their appearance. */
export function normalized(events: readonly Json[], answers: readonly (readonly [PublicOperation, Answer])[]) {
  const names = new Map<string, string>();
  const nameOf = (kind: string, id: unknown) => {
    const name = names.get(`${kind} ${id}`) ?? `${kind} ${names.size}`;
    names.set(`${kind} ${id}`, name);
    return name;
  };
  const rename = (value: Json, kind: string): Json => {
    if (Array.isArray(value)) return value.map((one) => rename(one, kind));
    if (typeof value !== 'object' || value === null) return value;
    const fields = Object.entries(value).flatMap(([key, one]) => {
      if (key === 'time' || key === 'nextAfter') return [];
      const [, owner] = /^(.*)Id$/i.exec(key) ?? [];
      return [[key, owner === undefined ? rename(one, READS.has(key) ? key : kind) : nameOf(owner || kind, one)]];
    });
    return Object.fromEntries(fields);
  };
  const changes = events.map(({ id: _, ...event }) => rename(event, ''));
  const said = answers.map(([operation, { code, body }]) => ({
    code,
    ...(code === 'OK' ? { body: rename(body, kindOf(operation)) } : {}),
  }));
  return { changes, said: said.map(show).toSorted() };
}
