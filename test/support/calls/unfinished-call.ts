/** A gRPC call that stays open because only half of its request has been sent. */
import type { IncomingHttpHeaders } from 'node:http2';
import type { Method } from './grpc.ts';
import { grpcFrame, grpcHeaders, openSession } from './http2.ts';

/**
 * Resolves when the server has the first half. Only the server enforces the timeout, whereas grpc-js would end the call
 * itself.
 */
export async function beginCall<Q, A>(
  address: string,
  key: string,
  method: Method<Q, A>,
  request: Q,
  timeoutMs?: number,
) {
  const session = await openSession(address);
  const ping = () => new Promise((resolve) => session.ping(resolve)); // frames arrive in order
  const frame = grpcFrame(method.requestSerialize(request));
  const half = Math.ceil(frame.length / 2);
  const timeout = timeoutMs === undefined ? {} : { 'grpc-timeout': `${timeoutMs}m` };
  const stream = session.request({ ...grpcHeaders(method.path, key), ...timeout });
  let fields: IncomingHttpHeaders = {};
  for (const event of ['response', 'trailers']) stream.on(event, (found) => (fields = { ...fields, ...found }));
  const answered = stream.toArray().then((chunks: Buffer[]) => {
    if (fields['grpc-status'] === '0') return method.responseDeserialize(Buffer.concat(chunks).subarray(5));
    throw new Error(`the call ended with grpc-status ${fields['grpc-status']}`);
  });
  answered.catch(() => undefined); // not every test waits for it
  stream.write(frame.subarray(0, half));
  await ping();
  return {
    /** The response. Rejects when the call fails or is cut off. */
    answered,
    /** Sends the other half and resolves with the response. */
    async finish() {
      stream.end(frame.subarray(half));
      return answered.finally(() => session.close());
    },
    close: () => session.destroy(),
  };
}
