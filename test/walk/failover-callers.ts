/** Who uses the service during a fail-over: callers, each with the key of an account, and followers of the events. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { watchEvents } from '../support/calls/event-source.ts';
import { detailsOf } from '../support/calls/grpc.ts';
import { Caller } from './caller.ts';
import type { World } from './failover-world.ts';

const PAUSE_MS = 150;
/** These leave open whether a request was carried out. */
const NO_ANSWER = ['UNAVAILABLE', 'DEADLINE_EXCEEDED'];

/** What all callers have been answered. */
export class Seen {
  /** Acknowledged categories by their names: their ids, and when that was. */
  readonly written = new Map<string, { readonly id: string; readonly ms: number }>();
  /** Names of categories that were not found after they had been acknowledged. */
  readonly missing: string[] = [];
  readonly refused = { writes: 0, reads: 0 };
  slowestMs = 0;
}

/** An account, which uses every server. */
export class Account {
  readonly #world: World;
  readonly #seen: Seen;
  readonly key: string;
  /** By the address of the server. */
  readonly #callers = new Map<string, Caller>();
  /** How many requests were sent, and how many answers had the account's limits. */
  sent = 0;
  counted = 0;

  constructor(world: World, seen: Seen, key: string) {
    [this.#world, this.#seen, this.key] = [world, seen, key];
  }

  close(): void {
    for (const caller of this.#callers.values()) caller.close();
  }

  /** What each server says is left. */
  async remaining(): Promise<readonly number[]> {
    for (const index of this.#world.servers.keys())
      assert.equal((await this.send(index, 'GET', '/categories')).code, 'OK');
    return this.#world.servers.map(({ address }) => this.#callers.get(address)?.remaining ?? Number.NaN);
  }

  /** Sends a request once. */
  async send(server: number, method: string, path: string, json?: unknown, key = randomUUID()) {
    const address = this.#world.addressOf(server);
    const caller = this.#callers.get(address) ?? new Caller(address, this.key);
    this.#callers.set(address, caller);
    const { counted, remaining } = caller;
    const startMs = performance.now();
    this.sent += 1;
    const answer = await caller.send({ method, path, json, key });
    this.#seen.slowestMs = Math.max(this.#seen.slowestMs, performance.now() - startMs);
    this.counted += caller.counted - counted;
    const isLess = caller.remaining <= remaining || caller.counted - counted !== 1;
    assert.ok(isLess, `${caller.remaining} after ${remaining}`);
    return answer;
  }

  /** Repeats a write with its key until it is acknowledged. */
  async write(server: number, signal: AbortSignal): Promise<void> {
    const { written, refused } = this.#seen;
    const [key, name] = [randomUUID(), randomUUID()];
    while (!written.has(name)) {
      const answer = await this.send(server, 'POST', '/categories', { name }, key);
      if (answer.code === 'OK') written.set(name, { id: answer.body.id, ms: performance.now() });
      else if (signal.aborted) return;
      else await delay(PAUSE_MS);
      if (answer.code === 'OK') continue;
      assert.ok(NO_ANSWER.includes(answer.code), `a write is ${answer.code}: ${answer.body}`);
      refused.writes += 1;
    }
  }

  /** Reads what was acknowledged last, by any server. */
  async read(server: number): Promise<void> {
    const { written, missing, refused } = this.#seen;
    const [name, { id } = { id: '' }] = [...written].at(-1) ?? [];
    if (name === undefined) return;
    const answer = await this.send(server, 'GET', `/categories/${id}`);
    if (NO_ANSWER.includes(answer.code)) refused.reads += 1;
    else if (answer.code === 'CATEGORY_NOT_FOUND' || answer.body.name !== name) missing.push(name);
    else assert.equal(answer.code, 'OK', `a read is ${answer.code}: ${answer.body}`);
  }

  /** All categories: their names by their ids. */
  async categories(signal: AbortSignal): Promise<Map<string, string>> {
    const all = new Map<string, string>();
    for (let token = '0'; token !== '' && !signal.aborted; ) {
      const page = token === '0' ? '' : `&pageToken=${encodeURIComponent(token)}`;
      const answer = await this.send(0, 'GET', `/categories?limit=100${page}`);
      if (answer.code !== 'OK') {
        await delay(PAUSE_MS);
        continue;
      }
      for (const { id, name } of answer.body.categories ?? []) all.set(String(id), name);
      token = answer.body.nextPageToken ?? '';
    }
    return all;
  }
}

/** Keeps a copy of the categories, by the replica rule. */
export class Follower {
  readonly name: string;
  readonly #world: World;
  readonly #account: Account;
  readonly #server: number;
  #left = new AbortController();
  copy = new Map<string, string>();
  /** The ids of all events that it has seen. */
  readonly seen = new Set<bigint>();
  /** How often it was told that the feed has not reached its place. */
  told = 0;
  /** Undefined where it reads the lists anew. */
  cursor: bigint | undefined = 0n;

  constructor(name: string, world: World, account: Account, server: number) {
    this.name = name;
    [this.#world, this.#account, this.#server] = [world, account, server];
  }

  leave(): void {
    this.#left.abort();
  }

  /** Follows, on as many streams as it takes, until it leaves or all is over. */
  async follow(over: AbortSignal): Promise<void> {
    this.#left = new AbortController();
    const signal = AbortSignal.any([this.#left.signal, over]);
    for (; !signal.aborted; await delay(PAUSE_MS)) await this.#stream(this.#world.addressOf(this.#server), signal);
  }

  async #stream(address: string, signal: AbortSignal): Promise<void> {
    let taken: Promise<unknown> = Promise.resolve();
    const stream = watchEvents(address, this.#account.key, {
      ...(this.cursor === undefined ? {} : { after: this.cursor }),
      onMessage: ({ event, checkpoint }) => {
        taken = taken.then(async () => {
          if (signal.aborted) return;
          if (this.cursor === undefined) this.copy = await this.#account.categories(signal); // the stream has begun
          this.cursor = event?.id ?? checkpoint?.id ?? 0n;
          if (event === undefined) return;
          this.seen.add(event.id);
          if (event.category !== undefined) this.copy.set(String(event.category.id), event.category.name);
        });
      },
    });
    signal.addEventListener('abort', stream.close, { once: true });
    if (signal.aborted) stream.close();
    const error = await stream.ended;
    await taken;
    const hasDetails = (error?.metadata.get('grpc-status-details-bin').length ?? 0) > 0;
    const reason = error !== undefined && hasDetails ? detailsOf(error).errorInfo?.reason : undefined;
    if (reason === 'EVENT_NOT_REACHED') [this.told, this.cursor] = [this.told + 1, undefined];
    else assert.ok(reason === undefined || NO_ANSWER.includes(reason), `${this.name} was told ${reason}`);
  }
}
