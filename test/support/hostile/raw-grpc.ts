/** gRPC calls with any headers and bytes, each over a connection of its own. */
import type { OutgoingHttpHeaders } from 'node:http2';
import { ErrorInfo } from '../../../gen/google/rpc/error_details.ts';
import { Status } from '../../../gen/google/rpc/status.ts';
import { until } from '../until.ts';
import { grpcHeaders, openSession, type Target } from './sockets.ts';

export interface RawCall {
  readonly path: string;
  readonly key?: string | undefined;
  readonly headers?: OutgoingHttpHeaders;
  /** Sent after the headers; undefined: nothing. */
  readonly bytes?: Uint8Array;
  /** Whether the caller ends the stream. */
  readonly isEnded?: boolean;
}

export interface RawAnswer {
  /** The gRPC status; undefined when the call ended without one. */
  readonly status: number | undefined;
  readonly message: string;
  /** The reason of google.rpc.ErrorInfo. */
  readonly reason: string | undefined;
  /** Headers and trailers. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly tookMs: number;
}

export async function rawGrpc(
  target: Target,
  { path, key, headers, bytes, isEnded = true }: RawCall,
  giveUpMs = 60_000,
): Promise<RawAnswer> {
  const session = await openSession(target);
  const startedAtMs = performance.now();
  let isOver = false;
  let received: Readonly<Record<string, unknown>> = {};
  try {
    const endStream = isEnded && bytes === undefined;
    const stream = session.request({ ...grpcHeaders(path, key), ...headers }, { endStream });
    stream.on('response', (answer) => {
      received = { ...received, ...answer };
    });
    stream.on('trailers', (answer) => {
      received = { ...received, ...answer };
    });
    stream.on('error', () => undefined);
    stream.on('close', () => {
      isOver = true;
    });
    if (bytes !== undefined) stream.write(bytes);
    if (isEnded && !endStream) stream.end();
    stream.resume();
    // A response ends the call, even when the request is incomplete.
    await until(() => isOver || received['grpc-status'] !== undefined, `an answer to ${path}`, giveUpMs);
    return toAnswer(received, performance.now() - startedAtMs);
  } finally {
    session.destroy();
  }
}

function toAnswer(headers: Readonly<Record<string, unknown>>, tookMs: number): RawAnswer {
  const status = headers['grpc-status'];
  return {
    status: status === undefined ? undefined : Number(status),
    message: decodeURIComponent(String(headers['grpc-message'] ?? '')),
    reason: reasonOf(headers['grpc-status-details-bin']),
    headers,
    tookMs,
  };
}

function reasonOf(details: unknown): string | undefined {
  if (typeof details !== 'string') return undefined;
  const { details: all } = Status.decode(Buffer.from(details, 'base64'));
  const info = all.find(({ typeUrl }) => typeUrl.endsWith('/google.rpc.ErrorInfo'));
  return info && ErrorInfo.decode(info.value).reason;
}
