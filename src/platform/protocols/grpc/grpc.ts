/**
 * gRPC on the wire (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md). Envoy makes gRPC of gRPC-Web, and
 * of every request over REST and Connect: so all calls are read here.
 */
import { status as Code } from '@grpc/grpc-js';
import { invalidArgument } from '../../errors.ts';
import { encoded, type Protocol } from '../../rpc/chain.ts';
import { toTrailers } from './errors.ts';
import { Messages } from './messages.ts';

const GRPC_HEADERS = {
  'content-type': 'application/grpc+proto',
  'grpc-accept-encoding': 'identity,deflate,gzip',
  'grpc-encoding': 'identity',
};

const GRPC_OK = { 'grpc-status': String(Code.OK) };

/** A message with its prefix: a byte for the compression, which there is none of, and four for the length. */
function toFrame(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(5 + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, 5);
  return frame;
}

/** The header `grpc-timeout`: one to eight digits and a unit, up to 99,999,999 hours. */
const TIMEOUT = /^(\d{1,8})([HMSmun])$/;
const UNITS_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** The timeout in milliseconds; Infinity without a header, undefined for one that is malformed. */
export function parseTimeout(header: string | undefined): number | undefined {
  if (header === undefined) return Number.POSITIVE_INFINITY;
  const [, digits, unit = ''] = TIMEOUT.exec(header) ?? [];
  return digits === undefined ? undefined : Number(digits) * (UNITS_MS[unit] ?? 0);
}

/** Reads a call that Envoy has converted from the protocol in which its caller knows the timeout by this name. */
export function openAs(name: string, description: string): Protocol['open'] {
  return ({ 'grpc-timeout': timeout, 'grpc-encoding': encoding }) => {
    const timeoutMs = parseTimeout(timeout?.toString());
    const messages = new Messages(encoding?.toString());
    if (timeoutMs !== undefined) return { messages, timeoutMs };
    const error = invalidArgument([{ path: name, name, description }]);
    return { messages, timeoutMs: Number.POSITIVE_INFINITY, error };
  };
}

const START = { status: 200, headers: GRPC_HEADERS, body: '', trailers: GRPC_OK };

export const GRPC: Protocol = {
  name: 'gRPC',
  open: openAs('grpc-timeout', 'must be 1 to 8 digits and a unit: H, M, S, m, u or n'),
  render: (call, response) => ({ ...START, body: toFrame(encoded(call, response)) }),
  // gRPC has an HTTP status of its own for another method than POST, and for another content type.
  renderError: (_call, error) => ({
    ...START,
    status: error.httpStatus === 405 || error.httpStatus === 415 ? error.httpStatus : 200,
    trailers: toTrailers(error),
  }),
  begin: (_call, first, encode) => ({ ...START, body: first === undefined ? Buffer.alloc(0) : encode(first) }),
  piece: ({ codec }, message) => toFrame(codec.responseSerialize(message)),
};
