/** The values that envoy.yaml has from the server: header names, limits, and the errors that Envoy sends by itself. */
import { Status } from '../../gen/google/rpc/status.ts';
import { BODY_TIMEOUT_MS, CALL_TIMEOUT_MS, MAX_BODY_BYTES } from '../config/constants.ts';
import type { Config } from '../config.ts';
import { ApiError, apiError } from '../errors.ts';
import { toDetails } from '../grpc/status.ts';
import { loadOperations, type Operations } from '../proto/operations.ts';
import { connectBody } from './connect-error.ts';
import { LOGGED_METHOD } from './envoy-access-log.ts';
import { filterSkips } from './envoy-matchers.ts';
import { EDGE_HEADERS } from './headers.ts';
import { restBody } from './rest-protocol.ts';

/** What Envoy retries, on another server if there is one: only calls that cannot have begun. */
export const RETRIES = { on: 'connect-failure,refused-stream,reset-before-request', times: 2 } as const;

/**
 * When a read has no response after this time, Envoy sends it to a second server too (hedging) and uses the first
 * response: the first server may be frozen, or only slow. Writes are never hedged.
 */
export const HEDGE_DELAY_MS = 1_500;

/** Later than the server's own timeout, which has a better response for gRPC callers. */
export const EDGE_BODY_TIMEOUT_MS = BODY_TIMEOUT_MS + 1_000;

const OPERATIONS = loadOperations();

/** By their names in envoy.yaml. */
export const ENVOY_VALUES: Readonly<Record<string, string | number | readonly unknown[]>> = {
  HEADER_ACCEPTED: EDGE_HEADERS.accepted,
  HEADER_ACCOUNT: EDGE_HEADERS.account,
  HEADER_ACCEPT_ENCODING: EDGE_HEADERS.acceptEncoding,
  HEADER_EDGE: EDGE_HEADERS.edge,
  HEADER_CODE: EDGE_HEADERS.code,
  HEADER_CONNECT: EDGE_HEADERS.connect,
  HEADER_BODY_TYPE: EDGE_HEADERS.bodyType,
  HEADER_GRPC_STATUS: EDGE_HEADERS.grpcStatus,
  HEADER_KEY: EDGE_HEADERS.key,
  HEADER_LENGTH: EDGE_HEADERS.length,
  HEADER_REFUSED: EDGE_HEADERS.refused,
  HEADER_ANONYMOUS: EDGE_HEADERS.anonymous,
  LOGGED_METHOD,
  MAX_BODY_BYTES,
  /** The transcoder accepts only bodies that are shorter than this. */
  TRANSCODER_BODY_BYTES: MAX_BODY_BYTES + 1,
  BODY_TIMEOUT: seconds(EDGE_BODY_TIMEOUT_MS),
  CALL_TIMEOUT: seconds(CALL_TIMEOUT_MS),
  CALL_TIMEOUT_GRPC: grpcTimeout(CALL_TIMEOUT_MS),
  /** From the headers of a gRPC request to the end of its response. */
  REQUEST_TIMEOUT_GRPC: grpcTimeout(BODY_TIMEOUT_MS + CALL_TIMEOUT_MS),
  RETRY_ON: RETRIES.on,
  RETRIES: RETRIES.times,
  REST_SERVICES: restServices(OPERATIONS),
  ...filterSkips(OPERATIONS),
  UNAVAILABLE: restBody(apiError('UNAVAILABLE')),
  CONNECT_UNAVAILABLE: connectBody(apiError('UNAVAILABLE')),
  UNAVAILABLE_MESSAGE: apiError('UNAVAILABLE').message,
  BROKEN_HTTP: restBody(brokenHttp()),
};

/** The values that depend on the limits: what an address may send without a known key, and the refusal of more. */
export function floodValues({ addressBurst, addressPerSecond }: Config['limits']) {
  const retryAfterSeconds = 1;
  const limit = { limit: addressPerSecond, window: 'second', retryAfterSeconds };
  const error = apiError('RATE_LIMITED', limit, { retryAfterSeconds });
  return {
    ADDRESS_BURST: addressBurst,
    ADDRESS_PER_SECOND: addressPerSecond,
    FLOOD: restBody(error),
    CONNECT_FLOOD: connectBody(error),
    FLOOD_MESSAGE: error.message,
    FLOOD_DETAILS: Buffer.from(Status.encode(toDetails(error)).finish()).toString('base64'),
  };
}

/** The services that have REST routes. */
function restServices({ byPath }: Operations): string[] {
  const operations = [...byPath.values()].filter(({ routes }) => routes.length > 0);
  return [...new Set(operations.map(({ path }) => path.slice(1, path.lastIndexOf('/'))))];
}

function seconds(ms: number): string {
  return `${ms / 1_000}s`;
}

function grpcTimeout(ms: number): string {
  return `${ms / 1_000}S`;
}

function brokenHttp(): ApiError {
  return new ApiError('INVALID_ARGUMENT', 'the request is not valid HTTP, or its headers are too large', {});
}
