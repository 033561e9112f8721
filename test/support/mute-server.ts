/** A server that is well, says so whenever it is asked, and answers no call, or dies when it has begun to. */
import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { readConfig } from '../../src/config.ts';

/** What it answers: a HealthCheckResponse that says SERVING, an HttpBody without anything. */
const ANSWERS: Readonly<Record<string, Buffer>> = {
  '/grpc.health.v1.Health/Check': Buffer.of(8, 1),
  '/petstore.web.v1.WebService/CheckHealth': Buffer.of(),
};

/** It begins an answer and dies. */
const DYING = '/petstore.v1.InventoryService/ListInventory';
const DYING_MS = 50;

const server = createServer();
server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
  const answer = ANSWERS[String(headers[':path'])];
  stream.on('error', () => undefined); // nobody waits any more
  const isDying = headers[':path'] === DYING;
  if (answer === undefined && !isDying) return;
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  if (isDying) setTimeout(() => stream.session?.destroy(), DYING_MS);
  if (answer === undefined) return;
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(Buffer.concat([Buffer.of(0, 0, 0, 0, answer.length), answer]));
});

server.listen(readConfig().grpcPort, '127.0.0.1', () => process.send?.('port'));
process.on('message', () => process.send?.('yes'));
process.on('SIGTERM', () => process.exit());
