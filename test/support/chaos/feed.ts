/**
 * Followers of the feed of events, among the clients of a chaos run: the typed client, and server-sent events with
 * Last-Event-ID. Both begin at the first event. A proxy also cuts their connections now and then.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '../../../src/client/index.ts';
import { openEvents } from '../event-source.ts';
import { toJson } from '../followers.ts';
import { until } from '../until.ts';
import type { Category, Item, Order, Pet } from './history.ts';
import { TcpProxy } from './proxy.ts';

/** An event as REST shows it. */
export interface FeedEvent {
  readonly id: number;
  /** Such as `pet.updated`. */
  readonly type: string;
  readonly pet?: Pet;
  readonly inventory?: Item;
  readonly category?: Category;
  readonly order?: Omit<Order, 'tag'> & { readonly shipDate: string };
}

/** What a follower has got. */
export interface Followed {
  readonly name: string;
  /** Over all connections: a follower goes on after the last event that it has. */
  readonly events: readonly FeedEvent[];
  /** Why it could not go on. */
  readonly failures: readonly string[];
}

const CUT_MS = 1_500;
const RETRY_MS = 200;
/** The typed client waits up to 15 s before it tries again, if the service was away for long. */
const CATCH_UP_MS = 25_000;

export class Followers {
  readonly followed: readonly Followed[];
  readonly #proxy: TcpProxy;
  readonly #cutting: NodeJS.Timeout;
  readonly #over: AbortController;
  readonly #ends: readonly Promise<void>[];

  private constructor(proxy: TcpProxy, key: string) {
    this.#proxy = proxy;
    this.#cutting = setInterval(() => proxy.cut(), CUT_MS);
    this.#over = new AbortController();
    const { signal } = this.#over;
    const follow = (name: string, work: (events: FeedEvent[]) => Promise<void>) => {
      const [events, failures]: [FeedEvent[], string[]] = [[], []];
      const end = work(events).catch((error: Error) => {
        if (!signal.aborted) failures.push(error.message);
      });
      return { followed: { name, events, failures }, end };
    };
    const address = `127.0.0.1:${proxy.port}`;
    const all = [
      follow('the typed client', (events) => overGrpc(address, key, events, signal)),
      follow('server-sent events', (events) => overEvents(`http://${address}`, key, events, signal)),
    ];
    this.followed = all.map(({ followed }) => followed);
    this.#ends = all.map(({ end }) => end);
  }

  static async start(publicAddress: string, key: string): Promise<Followers> {
    return new Followers(await TcpProxy.open(Number(publicAddress.split(':')[1])), key);
  }

  /** Waits until all have got the event, but not for long, and ends them. */
  async end(last: number): Promise<void> {
    clearInterval(this.#cutting);
    const isThere = () => this.followed.every(({ events }) => (events.at(-1)?.id ?? 0) >= last);
    await until(isThere, 'the last event', CATCH_UP_MS).catch(() => undefined);
    await this.close();
  }

  async close(): Promise<void> {
    clearInterval(this.#cutting);
    this.#over.abort();
    await Promise.all(this.#ends);
    await this.#proxy.close();
  }
}

async function overGrpc(address: string, apiKey: string, events: FeedEvent[], signal: AbortSignal): Promise<void> {
  const client = createClient({ address, apiKey });
  try {
    for await (const event of client.events({ after: 0n, signal })) events.push(toJson(event));
  } finally {
    await client.close();
  }
}

async function overEvents(url: string, key: string, events: FeedEvent[], signal: AbortSignal): Promise<void> {
  for (let lastId = '0'; !signal.aborted; ) {
    try {
      const stream = await openEvents(`${url}/events/stream`, key, { 'last-event-id': lastId });
      signal.addEventListener('abort', stream.close);
      const { status } = stream.response;
      if (status < 500 && status !== 200) throw new Refused(`resumed after ${lastId}, it was told ${status}`);
      while (status === 200) {
        const event = await stream.next();
        if (event === undefined) break;
        lastId = event.id ?? lastId;
        if (event.event !== 'ready' && event.data !== undefined) events.push(event.data);
      }
      stream.close();
    } catch (error) {
      if (error instanceof Refused) throw error; // otherwise the connection was cut
    }
    await delay(RETRY_MS, undefined, { signal });
  }
}

class Refused extends Error {}
