/**
 * `GET /metrics`, and nothing else, in plain HTTP. Clients can't burden the service: the metrics are collected once a
 * second at most, and connections are few and short.
 */
import { createServer, type RequestListener } from 'node:http';
import type { Registry } from 'prom-client';
import { ConfigError, type MetricsConfig } from '../config.ts';

const MAX_CONNECTIONS = 8;
const TIMEOUT_MS = 5_000;
const MAX_HEADER_BYTES = 8_192;
const FRESH_MS = 1_000;

export interface MetricsListener {
  close(): Promise<void>;
}

/**
 * `onFailure` is called when the metrics can't be collected.
 *
 * @throws ConfigError when the port can't be opened.
 */
export async function listen(
  registry: Registry,
  { host, port }: MetricsConfig,
  onFailure: (error: unknown) => void,
): Promise<MetricsListener> {
  const options = { maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: TIMEOUT_MS, headersTimeout: TIMEOUT_MS };
  const server = createServer({ ...options, keepAliveTimeout: TIMEOUT_MS }, scrapeHandler(registry, onFailure));
  server.maxConnections = MAX_CONNECTIONS;
  server.setTimeout(TIMEOUT_MS); // also for clients that do not read the response
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
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

function scrapeHandler(registry: Registry, onFailure: (error: unknown) => void): RequestListener {
  let collected: Promise<string> | undefined;
  let collectedAtMs = Number.NEGATIVE_INFINITY;
  const collect = () => {
    if (collected === undefined || performance.now() > collectedAtMs + FRESH_MS) {
      collected = registry.metrics();
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
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => response.writeHead(500, { connection: 'close' }).end(),
    );
  };
}
