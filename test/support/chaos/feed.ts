/**
 * Followers of the feed of events, among the clients of a chaos run: the typed client, and server-sent events with
 * Last-Event-ID. Both begin at the first event. A proxy also cuts their connections now and then.
 */
import { followClient, followEvents } from '../followers.ts';
import { until } from '../until.ts';
import type { FeedEvent, Followed } from './history.ts';
import { TcpProxy } from './proxy.ts';

const CUT_MS = 1_500;
/** The typed client waits up to 15 s before it tries again, if the service was away for long. */
const CATCH_UP_MS = 25_000;

export interface Followers {
  readonly followed: readonly Followed[];
  /** Waits until all have got the event, but not for long, and ends them. */
  end(last?: number): Promise<void>;
}

export async function startFollowers(publicAddress: string, key: string): Promise<Followers> {
  const proxy = await TcpProxy.open(Number(publicAddress.split(':')[1]));
  const cutting = setInterval(() => proxy.cut(), CUT_MS);
  const over = new AbortController();
  const { signal } = over;
  const address = `127.0.0.1:${proxy.port}`;
  const all = [
    { name: 'the typed client', events: [] as FeedEvent[], failures: [] as string[] },
    { name: 'server-sent events', events: [] as FeedEvent[], failures: [] as string[] },
  ] as const;
  const [client, sent] = all;
  const ends = [
    followClient(address, key, { onEvent: (event) => client.events.push(event), signal }).catch((error: Error) =>
      client.failures.push(error.message),
    ),
    followEvents(`http://${address}`, key, { after: '0', onEvent: (event) => sent.events.push(event), signal }).catch(
      (error: Error) => sent.failures.push(error.message),
    ),
  ];
  return {
    followed: all,
    async end(last = 0) {
      clearInterval(cutting);
      const isThere = () => all.every(({ events }) => (events.at(-1)?.id ?? 0) >= last);
      await until(isThere, 'the last event', CATCH_UP_MS).catch(() => undefined);
      over.abort();
      await Promise.all(ends);
      await proxy.close();
    },
  };
}
