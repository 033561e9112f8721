/** Adds response headers for Envoy's access log: whose request it was, and the error that it ended with. */
import { status as Status } from '@grpc/grpc-js';
import type { ApiError } from '../errors.ts';
import type { Call } from '../rpc/chain.ts';
import { EDGE_HEADERS } from './headers.ts';

/** Does nothing for a call that did not come through Envoy. Envoy removes the headers from the response. */
export function addAccessLogHeaders({ isForwarded, caller, responseHeaders }: Call, error?: ApiError): void {
  if (!isForwarded) return;
  if (caller !== undefined) {
    responseHeaders.set(EDGE_HEADERS.account, String(caller.accountId));
    responseHeaders.set(EDGE_HEADERS.key, String(caller.keyId));
  }
  if (error !== undefined) responseHeaders.set(EDGE_HEADERS.code, error.code);
  // A response over HTTP has no gRPC status. Envoy takes a call with a key for OK unless this header says otherwise.
  if (error !== undefined || caller === undefined) {
    responseHeaders.set(EDGE_HEADERS.grpcStatus, String(error?.grpcStatus ?? Status.OK));
  }
}
