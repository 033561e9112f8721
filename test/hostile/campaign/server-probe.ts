/**
 * Loaded into each server by `--import`: answers "streams" on a Unix socket in DATA_DIR with the number of open HTTP/2
 * streams, and "bytes" with the memory in use. Node itself reports the streams, so this holds for any server.
 */
import { subscribe } from 'node:diagnostics_channel';
import type { ServerHttp2Stream } from 'node:http2';
import { createServer } from 'node:net';
import { join } from 'node:path';

const { DATA_DIR: folder, GRPC_PORT: port } = process.env;
const isServer = process.argv[1]?.endsWith(join('src', 'main.ts')) && !process.argv[1].includes('launcher');

if (folder !== undefined && port !== undefined && isServer) {
  const open = new Set<ServerHttp2Stream>();
  subscribe('http2.server.stream.created', (message) => {
    const { stream } = message as { readonly stream: ServerHttp2Stream };
    open.add(stream);
    stream.once('close', () => open.delete(stream)); // Node has forgotten it, and not only the other side
  });
  createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (question) => socket.end(String(`${question}` === 'bytes' ? usedBytes() : open.size)));
  })
    .listen(join(folder, `probe-${port}-${process.pid}`))
    .unref();
}

/** What is left after a garbage collection: objects, and what they hold outside the heap. */
function usedBytes(): number {
  const { gc } = globalThis;
  gc?.();
  gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
