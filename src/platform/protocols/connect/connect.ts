/**
 * Unary calls of the Connect protocol (https://connectrpc.com/docs/protocol), which connect.lua converts to gRPC. An
 * error is `{code, message, details}`. Envoy refuses its streams.
 */
import { status as Status } from '@grpc/grpc-js';
import type { ApiError } from '../../errors.ts';
import { encoded, type Protocol } from '../../rpc/chain.ts';
import { toDetails, unpadded } from '../grpc/errors.ts';
import { GRPC, openAs } from '../grpc/grpc.ts';
import { withBody, withError } from '../rest/responses.ts';

/** The HTTP status of each code of the protocol. Others have 500. */
const CONNECT_STATUSES: Readonly<Record<string, number>> = {
  canceled: 499,
  invalid_argument: 400,
  deadline_exceeded: 504,
  not_found: 404,
  already_exists: 409,
  permission_denied: 403,
  resource_exhausted: 429,
  failed_precondition: 400,
  aborted: 409,
  out_of_range: 400,
  unimplemented: 501,
  unavailable: 503,
  unauthenticated: 401,
};

/** The codes are those of gRPC in lower case, with one spelled differently. */
function codeOf(status: Status): string {
  return status === Status.CANCELLED ? 'canceled' : Status[status].toLowerCase();
}

/** What is no call, or one of a method that does not exist, has the status of HTTP for it. */
export function connectHttpStatus({ code, grpcStatus, httpStatus }: ApiError): number {
  const isOfHttp = code === 'ROUTE_NOT_FOUND' || grpcStatus === Status.UNKNOWN;
  return isOfHttp ? httpStatus : (CONNECT_STATUSES[codeOf(grpcStatus)] ?? 500);
}

/** `{code, message, details}` */
export function connectBody(error: ApiError): string {
  const details = toDetails(error).details.map(({ typeUrl, value }) => ({
    type: typeUrl.slice(typeUrl.lastIndexOf('/') + 1),
    value: unpadded(value),
  }));
  return JSON.stringify({ code: codeOf(error.grpcStatus), message: error.message, details });
}

export const CONNECT: Protocol = {
  ...GRPC,
  name: 'Connect',
  open: openAs('connect-timeout-ms', 'must be 1 to 10 digits'),
  render: (call, response) => withBody(call, 200, 'application/proto', encoded(call, response)),
  renderError: (call, error) => withError(call, error, connectHttpStatus(error), connectBody(error)),
};
