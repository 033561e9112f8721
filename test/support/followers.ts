/**
 * The replica rule: who starts from an empty copy and the first event, or from lists read after a stream began, and
 * applies what follows in order, has what the GETs say. Random changes, and followers of every kind.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { createClient } from '../../src/client/index.ts';
import { checkFeed } from './chaos/check-feed.ts';
import type { FeedEvent } from './chaos/history.ts';
import { TcpProxy } from './chaos/proxy.ts';
import { Random } from './chaos/random.ts';
import { openEvents } from './event-source.ts';
import { changeAtRandom, Replica, readAll, readLists } from './replica.ts';
import type { TestStack } from './stack.ts';
import { until } from './until.ts';

const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
const CHANGE_MS = 5_000;
const CUT_MS = 300;

/** How to follow, until the signal is aborted. */
interface Following {
  // biome-ignore lint/suspicious/noExplicitAny: an event as REST shows it
  readonly onEvent: (event: any) => void;
  readonly signal: AbortSignal;
}

interface Connected extends Following {
  /** Where it begins; undefined: now. */
  readonly after: string | undefined;
  /** When each connection has begun. */
  readonly onOpen?: () => Promise<void>;
  /** After how long a connection is cut. By default it is not. */
  readonly cutMs?: () => number;
}

const RETRY_MS = 50;

class Refused extends Error {}

/** Server-sent events, on as many connections as it takes. Rejects when an id is refused. */
export async function followEvents(url: string, key: string, following: Connected): Promise<void> {
  const { after, onEvent, onOpen, cutMs, signal } = following;
  for (let lastId = after; !signal.aborted; ) {
    const cut = new AbortController();
    const timer = cutMs && setTimeout(() => cut.abort(), cutMs());
    try {
      const headers: Record<string, string> = lastId === undefined ? {} : { 'last-event-id': lastId };
      const stream = await openEvents(`${url}/events/stream`, key, headers);
      for (const end of [signal, cut.signal]) end.addEventListener('abort', stream.close);
      const { status } = stream.response;
      if (status < 500 && status !== 200) throw new Refused(`resumed after ${lastId}, it was told ${status}`);
      for (let event = await stream.next(); event !== undefined && status === 200; event = await stream.next()) {
        lastId = event.id ?? lastId;
        if (event.event === 'ready') await onOpen?.();
        else if (event.data !== undefined) onEvent(event.data);
      }
      stream.close();
    } catch (error) {
      if (error instanceof Refused) throw error; // otherwise the connection was cut
    } finally {
      clearTimeout(timer);
    }
    await delay(RETRY_MS);
  }
}

/** The typed client, from the first event on. */
export async function followClient(address: string, apiKey: string, { onEvent, signal }: Following): Promise<void> {
  const client = createClient({ address, apiKey });
  try {
    for await (const event of client.events({ after: 0n, signal })) onEvent(toJson(event));
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await client.close();
  }
}

/** Reads page after page of the list. */
async function followPages(url: string, key: string, { onEvent, signal }: Following): Promise<void> {
  for (let last = 0; !signal.aborted; ) {
    const headers = { authorization: `Bearer ${key}` };
    const page = await fetch(`${url}/events?limit=100&after=${last}`, { headers });
    for (const event of (await page.json()) as { id: number }[]) {
      last = event.id;
      onEvent(event);
    }
  }
}

const STATUSES = ['unspecified', 'available', 'pending', 'sold'];

/** A message as REST shows it, but for its time. */
export function toJson(message: object): Record<string, unknown> {
  return JSON.parse(
    JSON.stringify(message, (name, value) => {
      if (name === 'status') return STATUSES[value];
      if (name === 'shipDate') return value && `${new Date(Number(value.seconds) * 1_000).toISOString().slice(0, 19)}Z`;
      return typeof value === 'bigint' ? Number(value) : value;
    }),
  );
}

/** Changes things at random, and asserts that followers of every kind have what the GETs say. */
export async function isReplicated(t: ExecutionContext, { rest, key }: Pick<TestStack, 'rest' | 'key'>): Promise<void> {
  t.log(`SEED=${SEED}`);
  const { url } = rest;
  const random = new Random(SEED);
  const proxy = await TcpProxy.open(Number(new URL(url).port));
  const cutting = setInterval(() => proxy.cut(), CUT_MS);
  const endMs = Date.now() + CHANGE_MS;
  const changing = Promise.all(Array.from({ length: 4 }, () => changeAtRandom(url, key, endMs, random)));
  const over = new AbortController();
  const followed: { name: string; events: FeedEvent[]; failures: readonly string[] }[] = [];
  const start = (name: string, follow: (following: Following) => Promise<void>) => {
    const events: FeedEvent[] = [];
    followed.push({ name, events, failures: [] });
    return follow({ onEvent: (event) => events.push(event), signal: over.signal });
  };
  const cutMs = () => random.int(100, 800);
  const following = [
    start('server-sent events', (own) => followEvents(url, key, { ...own, after: '0', cutMs })),
    start('the client', (own) => followClient(`127.0.0.1:${proxy.port}`, key, own)),
    start('pages', (own) => followPages(url, key, own)),
  ];
  await delay(CHANGE_MS / 2);
  // One begins with the lists, which it reads when its stream has begun.
  const late = new Replica();
  let isLoaded = false;
  const onOpen = async () => {
    if (!isLoaded) late.load(await readLists(url, key));
    isLoaded = true;
  };
  const onEvent = (event: FeedEvent) => {
    t.true(event.id > late.last, `${event.id} came after ${late.last}`);
    late.apply(event);
  };
  following.push(followEvents(url, key, { after: undefined, onEvent, onOpen, cutMs, signal: over.signal }));
  await changing;
  await rest.category('the last');
  const lists = await readLists(url, key);
  const feed = await readAll(url, key, '/events');
  const last = feed.at(-1)?.id ?? 0;
  const hasAll = () => late.last >= last && followed.every(({ events }) => (events.at(-1)?.id ?? 0) >= last);
  await Promise.race([until(hasAll, 'the last event'), Promise.all(following)]);
  over.abort();
  await Promise.all(following);
  clearInterval(cutting);
  await proxy.close();
  t.deepEqual(checkFeed({ feed, followed, lists }), []);
  t.deepEqual(late.lists(), lists);
  t.true(last > 50, `only ${last} events`);
}
