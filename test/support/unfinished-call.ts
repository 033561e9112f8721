/** A gRPC call that stays open because only half of its request has been sent. */
import { once } from 'node:events';
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import type { Method } from './grpc.ts';

export interface UnfinishedCall<A> {
  /** Sends the other half and resolves with the response. Rejects when the call fails. */
  finish(): Promise<A>;
  /** Sends the other half and cancels. Resolves when the server has received both. */
  cancel(): Promise<void>;
  /** The response. Rejects when the call fails or is cut off. */
  readonly answered: Promise<A>;
  close(): void;
}

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
): Promise<UnfinishedCall<A>> {
  const session = connect(`http://${address}`);
  const body = method.requestSerialize(request);
  const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, body.length]), body]); // of up to 255 bytes
  const half = Math.ceil(frame.length / 2);
  const stream = session.request({
    ':method': 'POST',
    ':path': method.path,
    'content-type': 'application/grpc',
    te: 'trailers',
    authorization: `Bearer ${key}`,
    ...(timeoutMs === undefined ? {} : { 'grpc-timeout': `${timeoutMs}m` }),
  });
  const answered = new Promise<A>((resolve, reject) => {
    session.on('error', reject);
    const chunks: Buffer[] = [];
    let grpcStatus: unknown;
    stream.on('response', (headers) => {
      grpcStatus = headers['grpc-status'] ?? grpcStatus;
    });
    stream.on('trailers', (trailers) => {
      grpcStatus = trailers['grpc-status'];
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', reject);
    stream.on('close', () => {
      if (grpcStatus === '0') resolve(method.responseDeserialize(Buffer.concat(chunks).subarray(5)));
      else reject(new Error(`the call ended with grpc-status ${grpcStatus}`));
    });
  });
  answered.catch(() => undefined); // not every test waits for it
  stream.write(frame.subarray(0, half));
  await ping(session); // frames arrive in order, so the response to the ping follows the half
  return {
    answered,
    async finish() {
      stream.end(frame.subarray(half));
      return answered.finally(() => session.close());
    },
    async cancel() {
      stream.end(frame.subarray(half));
      await ping(session);
      stream.close(constants.NGHTTP2_CANCEL);
      await ping(session);
      session.close();
    },
    close: () => session.destroy(),
  };
}

async function ping(session: ClientHttp2Session): Promise<void> {
  if (session.connecting) await once(session, 'connect');
  await new Promise<void>((resolve, reject) => {
    session.ping((error) => (error === null ? resolve() : reject(error)));
  });
}
