/**
 * Closes connections within the trailers of a call whose response is unread, and collects garbage. It is a program:
 * Node ends the process when it fails.
 */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { WebServiceService } from '../../gen/apiplatform/web/v1/web.ts';
import { END_STREAM, frame, headersFrame, PLAIN, PREFACE } from '../support/calls/frames.ts';
import { grpcFrame } from '../support/calls/sockets.ts';
import { startTestServer } from '../support/service/server.ts';

/** Windows as wide as HTTP/2 allows (RFC 9113, section 6.9.2). */
const WIDE = Buffer.concat([
  PREFACE,
  frame('settings', 0, 0, Buffer.from('00047fffffff', 'hex')),
  frame('window', 0, 0, Buffer.from('7fff0000', 'hex')),
]);
const TRAILERS = { 'x-first': 'x'.repeat(50), 'x-second': 'x'.repeat(50) };

const server = await startTestServer();
const call = (path: string) => ({ ':method': 'POST', ':path': path, ...PLAIN, 'content-type': 'application/grpc' });
const file = grpcFrame(WebServiceService.getFile.requestSerialize({ file: 'docs/swagger-ui-bundle.js' }));
const list = grpcFrame(Buffer.of(0x3a, 0)); // list_services
const files = [3, 5, 7, 9, 11, 13, 15].flatMap((id) => [
  headersFrame(id, call(WebServiceService.getFile.path)),
  frame('data', id, END_STREAM, file),
]);
const reflection = headersFrame(1, call('/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'));
for (let i = 0; i < 60; i += 1) {
  const socket = connect(Number(server.address.split(':')[1]), '127.0.0.1').on('error', () => undefined);
  socket.pause().write(Buffer.concat([WIDE, reflection, ...files]));
  await delay(50); // the socket is full
  socket.write(Buffer.concat([frame('data', 1, 0, list), headersFrame(1, TRAILERS, END_STREAM).subarray(0, 80)]));
  await delay(20);
  socket.resetAndDestroy();
  await delay(20);
  globalThis.gc?.();
}
await server.close();
process.exit(0);
