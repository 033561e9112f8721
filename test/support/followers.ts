/**
 * The replica rule: who starts from an empty copy and the first event, or from lists read after a stream began, and
 * applies what follows in order, has what the GETs say. Random changes, and followers of every kind.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { createClient } from '../../src/client/index.ts';
import { TcpProxy } from './chaos/proxy.ts';
import { Random } from './chaos/random.ts';
import { openEvents } from './event-source.ts';
import { changeAtRandom, Replica, readLists } from './replica.ts';
import type { TestStack } from './stack.ts';

const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
const CHANGE_MS = 5_000;

/** A follower that has a replica, and what is wrong with the order of what it got. */
interface Follower {
  readonly name: string;
  readonly replica: Replica;
  readonly faults: string[];
  /** Follows until the event with this id has been applied. */
  readonly done: (last: number) => Promise<void>;
}

/** What a way to follow applies its events to. */
interface Goal {
  readonly replica: Replica;
  /** Applies an event, which must come after all others. */
  readonly apply: (event: { id: number }) => void;
  /** Aborts when the last event has been applied. */
  readonly reached: AbortSignal;
}

function following(name: string, follow: (goal: Goal) => Promise<void>): Follower {
  const [replica, faults, reached] = [new Replica(), [] as string[], new AbortController()];
  let goal = Number.POSITIVE_INFINITY;
  const check = () => replica.last >= goal && reached.abort();
  const apply = (event: { id: number }) => {
    if (event.id <= replica.last) faults.push(`${name} got ${event.id} after ${replica.last}`);
    replica.apply(event);
    check();
  };
  const followed = follow({ replica, apply, reached: reached.signal });
  followed.catch(() => undefined);
  return {
    ...{ name, replica, faults },
    done(last) {
      goal = last;
      check();
      return followed;
    },
  };
}

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

/** Reconnects with Last-Event-ID. Its connections are cut at random. */
function overEvents(url: string, key: string, random: Random, start: 'empty' | 'lists'): Follower {
  return following(`events from ${start}`, ({ replica, apply, reached }) => {
    let isLoaded = start === 'empty';
    const onOpen = async () => {
      if (!isLoaded) replica.load(await readLists(url, key));
      isLoaded = true;
    };
    const after = start === 'empty' ? '0' : undefined;
    return followEvents(url, key, {
      after,
      onEvent: apply,
      onOpen,
      cutMs: () => random.int(100, 800),
      signal: reached,
    });
  });
}

/** Through a proxy that cuts its connections at random. */
function overGrpc(address: string, key: string): Follower {
  return following('the client', ({ apply, reached }) =>
    followClient(address, key, { onEvent: apply, signal: reached }),
  );
}

/** Reads page after page. */
function overPages(url: string, key: string): Follower {
  return following('pages', async ({ replica, apply, reached }) => {
    while (!reached.aborted) {
      const headers = { authorization: `Bearer ${key}` };
      const page = await fetch(`${url}/events?limit=100&after=${replica.last}`, { headers });
      for (const event of (await page.json()) as { id: number }[]) apply(event);
    }
  });
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
  const cutting = setInterval(() => proxy.cut(), 300);
  const endMs = Date.now() + CHANGE_MS;
  const changing = Promise.all(Array.from({ length: 4 }, () => changeAtRandom(url, key, endMs, random)));
  const followers = [
    overEvents(url, key, random, 'empty'),
    overGrpc(`127.0.0.1:${proxy.port}`, key),
    overPages(url, key),
  ];
  await new Promise((resolve) => setTimeout(resolve, CHANGE_MS / 2));
  followers.push(overEvents(url, key, random, 'lists'));
  await changing;
  // The last event of all is a category of this test.
  const id = await rest.category('the last');
  const lists = await readLists(url, key);
  let last = 0;
  for (let after = 0; last === 0; ) {
    const { body } = await rest.get(`/events?limit=100&after=${after}`);
    after = body.at(-1)?.id ?? after;
    last = body.find((event: { category?: { id: number } }) => event.category?.id === id)?.id ?? 0;
  }
  await Promise.all(followers.map(({ done }) => done(last)));
  clearInterval(cutting);
  await proxy.close();
  for (const { name, replica, faults } of followers) {
    t.deepEqual(faults, [], name);
    t.deepEqual(replica.lists(), lists, name);
  }
  t.true(last > 50, `only ${last} events`);
}
