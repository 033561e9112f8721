/** gRPC calls with any headers and bytes, each over a connection of its own. */
import type { OutgoingHttpHeaders } from 'node:http2';
import { ErrorInfo } from '../../../gen/google/rpc/error_details.ts';
import { Status } from '../../../gen/google/rpc/status.ts';
import { exchange } from './http2.ts';
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
  const sent = exchange(session, { ...grpcHeaders(path, key), ...headers }, { body: bytes, isEnded, giveUpMs });
  const answer = await sent.finally(() => session.destroy());
  const status = answer.headers['grpc-status'];
  return {
    status: status === undefined ? undefined : Number(status),
    message: decodeURIComponent(String(answer.headers['grpc-message'] ?? '')),
    reason: reasonOf(answer.headers['grpc-status-details-bin']),
    headers: answer.headers,
    tookMs: answer.tookMs,
  };
}

function reasonOf(details: unknown): string | undefined {
  if (typeof details !== 'string') return undefined;
  const { details: all } = Status.decode(Buffer.from(details, 'base64'));
  const info = all.find(({ typeUrl }) => typeUrl.endsWith('/google.rpc.ErrorInfo'));
  return info && ErrorInfo.decode(info.value).reason;
}
