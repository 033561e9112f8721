/** Adds response headers for Envoy's access log: whose request it was, and the error that it ended with. */

import { type Metadata, status as Status } from '@grpc/grpc-js';
import type { ApiError } from '../errors.ts';
import type { Caller } from '../keys/caller.ts';
import { EDGE_HEADERS } from './headers.ts';

interface EndedCall {
  readonly metadata: Metadata;
  readonly caller?: Caller;
  readonly responseHeaders: Map<string, string>;
}

/** Does nothing for a call that did not come through Envoy. Envoy removes the headers from the response. */
export function addAccessLogHeaders({ metadata, caller, responseHeaders }: EndedCall, error?: ApiError): void {
  if (metadata.get('x-forwarded-for').length === 0) return;
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
