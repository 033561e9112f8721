/**
 * Followers of the feed of events, among the clients of a chaos run: the typed client, and server-sent events with
 * Last-Event-ID. Both begin at the first event. A proxy also cuts their connections now and then.
 */
import { followClient, followEvents } from '../followers.ts';
import { until } from '../until.ts';
import type { Item, Order, Pet } from './history.ts';
import { TcpProxy } from './proxy.ts';

/** An event as REST shows it. */
export interface FeedEvent {
  readonly id: number;
  /** Such as `pet.updated`. */
  readonly type: string;
  readonly pet?: Pet;
  readonly inventory?: Item;
  readonly category?: { readonly id: number; readonly name: string; readonly description?: string };
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
    const follow = (name: string, work: (onEvent: (event: FeedEvent) => void) => Promise<void>) => {
      const [events, failures]: [FeedEvent[], string[]] = [[], []];
      const end = work((event) => events.push(event)).catch((error: Error) => {
        failures.push(error.message);
      });
      return { followed: { name, events, failures }, end };
    };
    const address = `127.0.0.1:${proxy.port}`;
    const all = [
      follow('the typed client', (onEvent) => followClient(address, key, { onEvent, signal })),
      follow('server-sent events', (onEvent) =>
        followEvents(`http://${address}`, key, { after: '0', onEvent, signal }),
      ),
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
