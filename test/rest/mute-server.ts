/**
 * A server that accepts every caller and responds to health checks, but to no other call; in one method it begins a
 * response and disconnects.
 */
import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { readConfig } from '../../src/platform/config/config.ts';

/** The responses by method: a HealthCheckResponse with SERVING, an empty HttpBody, a JudgeResponse. */
const RESPONSES: Readonly<Record<string, Buffer>> = {
  '/grpc.health.v1.Health/Check': Buffer.of(8, 1),
  '/apiplatform.web.v1.WebService/CheckHealth': Buffer.of(),
  '/apiplatform.edge.v1.EdgeService/Judge': Buffer.of(),
};

/** The method in which the server begins a response and disconnects. */
const DISCONNECTING = '/petstore.v1.InventoryService/ListInventory';
const DISCONNECT_MS = 50;

const server = createServer();
server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
  const answer = RESPONSES[String(headers[':path'])];
  stream.on('error', () => undefined); // the caller has left
  const disconnects = headers[':path'] === DISCONNECTING;
  if (answer === undefined && !disconnects) return;
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  if (disconnects) setTimeout(() => stream.session?.destroy(), DISCONNECT_MS);
  if (answer === undefined) return;
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(Buffer.concat([Buffer.of(0, 0, 0, 0, answer.length), answer]));
});

server.listen(readConfig().grpcPort, '127.0.0.1', () => process.send?.('port'));
process.on('message', () => process.send?.('yes'));
process.on('SIGTERM', () => process.exit());
