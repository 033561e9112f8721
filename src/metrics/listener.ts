/**
 * `GET /metrics`, and nothing else, in plain HTTP. However many ask, and whatever they do, it costs the service little:
 * the numbers are gathered once a second at the most, and connections are few and short.
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
 * `onFailure` is told of what should not have happened.
 *
 * @throws ConfigError when the port can't be opened.
 */
export async function listen(
  registry: Registry,
  { host, port }: MetricsConfig,
  onFailure: (error: unknown) => void,
): Promise<MetricsListener> {
  const options = { maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: TIMEOUT_MS, headersTimeout: TIMEOUT_MS };
  const server = createServer({ ...options, keepAliveTimeout: TIMEOUT_MS }, answer(registry, onFailure));
  server.maxConnections = MAX_CONNECTIONS;
  server.setTimeout(TIMEOUT_MS); // who does not read is not waited for either
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

function answer(registry: Registry, onFailure: (error: unknown) => void): RequestListener {
  let gathered: Promise<string> | undefined;
  let gatheredAtMs = Number.NEGATIVE_INFINITY;
  const gather = () => {
    if (gathered === undefined || performance.now() > gatheredAtMs + FRESH_MS) {
      gathered = registry.metrics();
      gathered.catch(onFailure);
      gatheredAtMs = performance.now();
    }
    return gathered;
  };
  return (request, response) => {
    const isScrape = request.url === '/metrics' && (request.method === 'GET' || request.method === 'HEAD');
    if (!isScrape) {
      response.writeHead(404, { connection: 'close' }).end();
      return;
    }
    gather().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => response.writeHead(500, { connection: 'close' }).end(),
    );
  };
}
