/**
 * Followers of the feed of events, whose connections are cut now and then: the typed client and server-sent events from
 * the first event on, and one that begins later, with lists that it reads when its stream has begun.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '../../../gen/client/index.ts';
import { loadOperations } from '../../../src/platform/proto/operations.ts';
import { jsonWriter } from '../../../src/platform/protocols/rest/json.ts';
import { openEvents } from '../../support/calls/event-source.ts';
import { readAll } from '../../support/calls/pages.ts';
import { RestClient } from '../../support/calls/rest-client.ts';
import { openProxy } from '../../support/machine/tcp-proxy.ts';
import type { Scope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import type { FeedEvent, Followed, Lists } from './history.ts';

const CUT_MS = 2_000;
const RETRY_MS = 50;
/** When the late one begins. */
const LATE_MS = 8_000;
/** The typed client waits up to 15 s before it tries again, if the service was away for long. */
const CATCH_UP_MS = 25_000;

export async function readLists(rest: RestClient): Promise<Lists> {
  return {
    pets: await readAll(rest, '/pets'),
    inventory: await readAll(rest, '/store/inventory'),
    categories: await readAll(rest, '/categories'),
    orders: await readAll(rest, '/store/orders'),
  };
}

export async function startFollowers(t: Scope, publicAddress: string, key: string) {
  const proxy = await openProxy(t, Number(publicAddress.split(':')[1]));
  const cutting = setInterval(() => proxy.cut(), CUT_MS);
  const over = new AbortController();
  const { signal } = over;
  const address = `127.0.0.1:${proxy.port}`;
  const url = `http://${address}`;
  const followed: Followed[] = [];
  const start = async (name: string, follow: (one: Following) => Promise<void>) => {
    const one = { name, events: [] as FeedEvent[], failures: [] as string[], key, signal };
    followed.push(one);
    await follow(one).catch((error: Error) => signal.aborted || one.failures.push(error.message));
  };
  const ends = [
    start('the typed client', (one) => followClient(address, one)),
    start('server-sent events', (one) => followEvents(url, one)),
    start('the lists and server-sent events', async (one) => {
      await delay(LATE_MS, undefined, { signal });
      await followEvents(url, one, () => readLists(new RestClient(`http://${publicAddress}`, key)));
    }),
  ];
  const end = async () => {
    clearInterval(cutting);
    over.abort();
    await Promise.all(ends);
  };
  t.teardown(end);
  return {
    followed,
    /** Waits until all have got the event, but not for long, and ends them. */
    async endAfter(last = 0) {
      clearInterval(cutting);
      const isThere = () => followed.every(({ events }) => (events.at(-1)?.id ?? 0) >= last);
      await until(isThere, 'the last event', CATCH_UP_MS).catch(() => undefined);
      await end();
    },
  };
}

interface Following {
  readonly events: FeedEvent[];
  lists?: Lists;
  readonly key: string;
  readonly signal: AbortSignal;
}

class Refused extends Error {}

/** On as many connections as it takes. Rejects when an id is refused. With `readFirst` it begins now. */
async function followEvents(url: string, following: Following, readFirst?: () => Promise<Lists>): Promise<void> {
  const { events, key, signal } = following;
  for (let lastId = readFirst === undefined ? '0' : undefined; !signal.aborted; await delay(RETRY_MS)) {
    try {
      const headers: Record<string, string> = lastId === undefined ? {} : { 'last-event-id': lastId };
      const stream = await openEvents(`${url}/events/stream`, key, headers, signal);
      const { status } = stream.response;
      if (status < 500 && status !== 200) throw new Refused(`resumed after ${lastId}, it was told ${status}`);
      for (let event = await stream.next(); event !== undefined && status === 200; event = await stream.next()) {
        lastId = event.id ?? lastId;
        if (event.event === 'ready' && readFirst) following.lists ??= await readFirst();
        else if (event.event !== 'ready' && event.data !== undefined) events.push(event.data);
      }
      stream.close();
    } catch (error) {
      if (error instanceof Refused) throw error; // otherwise the connection was cut
    }
  }
}

const type = loadOperations().registry.getMessage('petstore.v1.Event');
const toJson = type && jsonWriter(type);

/** The typed client, from the first event on. Its events are kept as REST shows them. */
async function followClient(address: string, { events, key, signal }: Following): Promise<void> {
  const client = createClient({ address, apiKey: key });
  try {
    for await (const event of client.events({ after: 0n, signal })) events.push(JSON.parse(toJson?.(event) ?? ''));
  } finally {
    await client.close();
  }
}
