/**
 * `GET /metrics` in plain HTTP. Metrics are collected once a second at most, and connections are few and short.
 *
 * A request for a name that is not this port's gets nothing: it may be of a web page whose name resolves to this
 * machine (DNS rebinding). Such a page can't make a browser send an address, or the name of another site.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { isIP } from 'node:net';
import type { Registry } from 'prom-client';
import type { MetricsConfig } from '../../config/config.ts';

const MAX_CONNECTIONS = 32;
const TIMEOUT_MS = 5_000;
const MAX_REQUEST_BYTES = 4_096;
const FRESH_MS = 1_000;

type Source = Pick<Registry, 'contentType' | 'metrics'>;

/** Resolves with what closes the port. `onFailure` is called when metrics can't be collected. */
export async function listen(
  source: Source,
  { host, port }: MetricsConfig,
  onFailure: (error: unknown) => void,
): Promise<() => void> {
  const timeouts = { requestTimeout: TIMEOUT_MS, headersTimeout: TIMEOUT_MS };
  const isOwnName = (name: string) =>
    name === 'localhost' || name === host.toLowerCase() || isIP(name.replace(/^\[|]$/g, '')) !== 0;
  const collect = atMostOnceASecond(source, onFailure);
  const server = createServer({ ...timeouts }, ({ url, method, headers }, response) => {
    const refuse = (status: number, text = '') => response.writeHead(status).end(text);
    const name = headers.host?.replace(/:\d+$/, '').toLowerCase() ?? '';
    if (!isOwnName(name)) refuse(421, 'Use an address, localhost, or the METRICS_HOST.\n');
    else if (url !== '/metrics' || (method !== 'GET' && method !== 'HEAD')) refuse(404);
    else {
      const respond = (text: string) => response.writeHead(200, { 'content-type': source.contentType }).end(text);
      collect().then(respond, () => refuse(500));
    }
  });
  server.setTimeout(TIMEOUT_MS); // also for clients that do not read the response
  server.maxConnections = MAX_CONNECTIONS;
  // A thousand requests of one read would run in one turn, and their responses wait for a reader.
  server.maxRequestsPerSocket = 1;
  server.on('dropRequest', (_, socket) => socket.destroy());
  server.on('connection', (socket) => {
    const [parse] = socket.listeners('data');
    socket.removeAllListeners('data').on('data', (chunk) => {
      if (socket.bytesRead > MAX_REQUEST_BYTES) socket.destroy();
      else parse?.call(socket, chunk);
    });
  });
  server.on('error', () => undefined); // a connection can't be accepted, for lack of files: the next one may be
  await once(server.listen(port, host), 'listening');
  return () => {
    server.close();
    server.closeAllConnections();
  };
}

function atMostOnceASecond(source: Source, onFailure: (error: unknown) => void): () => Promise<string> {
  let collected: Promise<string> | undefined;
  let collectedAtMs = 0;
  return () => {
    if (collected === undefined || performance.now() > collectedAtMs + FRESH_MS) {
      collected = source.metrics();
      collected.catch(onFailure);
      collectedAtMs = performance.now();
    }
    return collected;
  };
}
