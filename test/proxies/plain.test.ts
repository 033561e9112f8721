/** Proxies that nobody has configured for streams. Both hold back what may be compressed or buffered. */
import { createServer } from 'node:http';
import type { ExecutionContext } from 'ava';
// @ts-expect-error it has no types
import compression from 'compression';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { openEvents } from '../support/calls/event-source.ts';
import { listen } from '../support/machine/ports.ts';
import { testUnless } from '../support/machine/programs.ts';
import { makeCertificates, noOpenssl } from '../support/machine/tls.ts';
import { stackTest } from '../support/service/shared-stack.ts';
import type { TestStack } from '../support/service/stack.ts';
import { plainNginx } from './proxies.ts';

const test = stackTest({});
/** Less than the time until the first heartbeat. */
const PROMPT_MS = 5_000;

async function eventsArrive(t: ExecutionContext<TestStack>, url: string): Promise<void> {
  const { rest, key } = t.context;
  const signal = AbortSignal.timeout(PROMPT_MS);
  const events = await openEvents(`${url}/events/stream`, key, { 'accept-encoding': 'gzip' }, signal);
  t.teardown(events.close);
  t.is((await events.next())?.event, 'ready');
  const id = await rest.category('Cats');
  t.is((await events.take(1))[0]?.data.category.id, id);
}

testUnless<TestStack>(plainNginx.missing ?? noOpenssl).serial(
  'Event stream - arrives at once through nginx with its defaults',
  async (t) => {
    const certificates = await makeCertificates(t);
    const { door } = await plainNginx.start(t, t.context.config.port, certificates);
    await eventsArrive(t, `http://127.0.0.1:${door.port}`);
  },
);

test.serial("Event stream - arrives at once through the proxy of webpack's dev server, which compresses", async (t) => {
  // The two middlewares of which webpack-dev-server makes it, without the rest of webpack.
  const [compress, proxy] = [compression(), createProxyMiddleware({ target: t.context.rest.url })];
  const server = createServer((request, response) => compress(request, response, () => proxy(request, response)));
  await eventsArrive(t, `http://${await listen(t, server)}`);
});
