/** What a response carries for Envoy's access log: whose request it was, and with which error it ended. */

import { type Metadata, status as Status } from '@grpc/grpc-js';
import type { ApiError } from '../errors.ts';
import type { Caller } from '../keys/caller.ts';
import { EDGE_HEADERS } from './headers.ts';

interface EndedCall {
  readonly metadata: Metadata;
  readonly caller?: Caller;
  readonly responseHeaders: Map<string, string>;
}

/** Notes it in the headers of the response, of a call that has come by way of Envoy. Envoy takes them out again. */
export function noteForAccessLog({ metadata, caller, responseHeaders }: EndedCall, error?: ApiError): void {
  if (metadata.get('x-forwarded-for').length === 0) return;
  if (caller !== undefined) {
    responseHeaders.set(EDGE_HEADERS.account, String(caller.accountId));
    responseHeaders.set(EDGE_HEADERS.key, String(caller.keyId));
  }
  if (error !== undefined) responseHeaders.set(EDGE_HEADERS.code, error.code);
  // A response over HTTP has none. That of a call with a key is OK unless this says otherwise.
  if (error !== undefined || caller === undefined) {
    responseHeaders.set(EDGE_HEADERS.grpcStatus, String(error?.grpcStatus ?? Status.OK));
  }
}
