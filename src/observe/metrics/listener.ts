/**
 * `GET /metrics`, and nothing else, in plain HTTP. Clients can't burden the service: the metrics are collected once a
 * second at most, and connections are few and short. A new connection ends the oldest one, so that idle connections
 * can't keep a scrape out.
 *
 * A request for a name that is not this port's gets nothing: it may be of a web page whose name resolves to this
 * machine (DNS rebinding). Such a page can't make a browser send an address, or the name of another site.
 */
import { createServer, type RequestListener, type Server } from 'node:http';
import { isIP, type Socket } from 'node:net';
import type { Registry } from 'prom-client';
import { ConfigError, type MetricsConfig } from '../../config/config.ts';

const MAX_CONNECTIONS = 32;
const TIMEOUT_MS = 5_000;
const MAX_HEADER_BYTES = 8_192;
const FRESH_MS = 1_000;

type Source = Pick<Registry, 'contentType' | 'metrics'>;

export interface MetricsListener {
  close(): Promise<void>;
}

/**
 * `onFailure` is called when the metrics can't be collected.
 *
 * @throws ConfigError when the port can't be opened.
 */
export async function listen(
  source: Source,
  { host, port }: MetricsConfig,
  onFailure: (error: unknown) => void,
): Promise<MetricsListener> {
  const options = { maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: TIMEOUT_MS, headersTimeout: TIMEOUT_MS };
  const isOwnName = (name: string) =>
    name === 'localhost' || name === host.toLowerCase() || isIP(name.replace(/^\[|]$/g, '')) !== 0;
  const onRequest = scrapeHandler(source, onFailure);
  const server = createServer({ ...options, keepAliveTimeout: TIMEOUT_MS }, (request, response) => {
    if (isOwnName(request.headers.host?.replace(/:\d+$/, '').toLowerCase() ?? '')) onRequest(request, response);
    else response.writeHead(421, { connection: 'close' }).end('Use an address, localhost, or the METRICS_HOST.\n');
  });
  limitConnections(server);
  server.setTimeout(TIMEOUT_MS); // also for clients that do not read the response
  await new Promise<void>((resolve, reject) => {
    // Also for a connection that can't be accepted later, for lack of files: the next one may be.
    server.on('error', (error) => {
      reject(new ConfigError(`METRICS_PORT can't be opened on ${host}, port ${port}: ${error.message}`));
    });
    server.listen(port, host, resolve);
  });
  return {
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Ends the oldest connection when there are too many. */
function limitConnections(server: Server): void {
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    const [oldest] = open;
    if (open.size > MAX_CONNECTIONS) oldest?.destroy();
  });
}

function scrapeHandler(source: Source, onFailure: (error: unknown) => void): RequestListener {
  let collected: Promise<string> | undefined;
  let collectedAtMs = Number.NEGATIVE_INFINITY;
  const collect = () => {
    if (collected === undefined || performance.now() > collectedAtMs + FRESH_MS) {
      collected = source.metrics();
      collected.catch(onFailure);
      collectedAtMs = performance.now();
    }
    return collected;
  };
  return (request, response) => {
    const isScrape = request.url === '/metrics' && (request.method === 'GET' || request.method === 'HEAD');
    if (!isScrape) {
      response.writeHead(404, { connection: 'close' }).end();
      return;
    }
    collect().then(
      (text) => response.writeHead(200, { 'content-type': source.contentType }).end(text),
      () => response.writeHead(500, { connection: 'close' }).end(),
    );
  };
}
