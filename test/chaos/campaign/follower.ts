/** A follower of the feed of events, by the typed client, whose connections are cut now and then. */
import { createClient } from '../../../gen/client/index.ts';
import { openProxy } from '../../support/machine/tcp-proxy.ts';
import type { Scope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

const CUT_MS = 2_000;
/** The typed client waits up to 15 s before it tries again, if the service was away for long. */
const CATCH_UP_MS = 25_000;

export async function startFollower(t: Scope, publicAddress: string, apiKey: string) {
  const proxy = await openProxy(t, Number(publicAddress.split(':')[1]));
  const cutting = setInterval(() => proxy.cut(), CUT_MS);
  const over = new AbortController();
  const { signal } = over;
  const [events, failures]: [string[], string[]] = [[], []];
  const client = createClient({ address: `127.0.0.1:${proxy.port}`, apiKey });
  const follow = async () => {
    for await (const { id, type } of client.events({ after: 0n, signal })) events.push(`${id} ${type}`);
  };
  const ended = follow()
    .catch((error: Error) => signal.aborted || failures.push(error.message))
    .then(() => client.close());
  const end = async () => {
    clearInterval(cutting);
    over.abort();
    await ended;
  };
  t.teardown(end);
  return {
    /** Waits until it has got so many, but not for long. Resolves with them, and why it could not go on. */
    async endAfter(count: number) {
      clearInterval(cutting);
      await until(() => events.length >= count, 'the last event', CATCH_UP_MS).catch(() => undefined);
      await end();
      return [...events, ...failures];
    },
  };
}
