/**
 * The private parts of grpc-js that this server needs, all of them. `test/grpc/private-parts.test.ts` fails when they
 * change.
 */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { constants } from 'node:http2';
import type { Server, ServerInterceptingCallInterface } from '@grpc/grpc-js';

/** A call as grpc-js's server makes it, before any interceptor. */
export interface BaseCall extends ServerInterceptingCallInterface {
  /** Carries responses over plain HTTP, and tells when nothing of the call is left. */
  readonly stream: ServerHttp2Stream;
  /** Stops the deadline, and discards what the caller sends from now on. grpc-js does so after its own status. */
  notifyOnCancel(): void;
}

interface Decompression {
  readonly incomingEncoding: string;
  readonly cancelled: boolean;
  decompressMessage(message: Buffer, encoding: string): Promise<Buffer> | Buffer;
}

/**
 * Returns the private parts of a call, which decompresses one message after the other from now on. By itself grpc-js
 * starts a decompressor for each of the hundreds of small messages that fit into a frame, wanted or not.
 */
export function privateParts(call: ServerInterceptingCallInterface): BaseCall {
  const parts = call as BaseCall & Decompression;
  if (parts.incomingEncoding === 'identity') return parts;
  const decompress = parts.decompressMessage.bind(parts);
  let last: Promise<unknown> = Promise.resolve();
  parts.decompressMessage = (message, encoding) => {
    const next = last.then(() => (parts.cancelled ? Buffer.alloc(0) : decompress(message, encoding)));
    last = next.catch(() => undefined);
    return next;
  };
  return parts;
}

interface ServerParts {
  _retrieveHandler(path: string): object | null;
  _verifyContentType(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean;
}

/**
 * Makes the interceptors of a server see every call. By itself grpc-js answers a call of an unknown method, or with a
 * wrong content type, without them: to callers without a key, and without ever reading what they send, so that Node
 * keeps the stream for good.
 */
export function interceptEverything(server: Server): void {
  const parts = server as unknown as ServerParts;
  const verifyContentType = parts._verifyContentType.bind(server);
  parts._retrieveHandler = (path) => ({ ...RAW_HANDLER, path });
  parts._verifyContentType = (stream, headers) => {
    const isGrpc = verifyContentType(stream, headers);
    if (!isGrpc) {
      stream.resume();
      setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), STOP_MS).unref(); // at once, the answer would be lost
    }
    return isGrpc;
  };
}

/** How long a caller who has the answer may go on sending. */
export const STOP_MS = 1_000;

const asIs = (bytes: Buffer) => bytes;

/** Passes messages as bytes. The function is never called: an interceptor answers every call. */
const RAW_HANDLER = { type: 'unary', func: () => undefined, serialize: asIs, deserialize: asIs };
