/** Errors of any call, whatever its protocol. */
import { status as Status } from '@grpc/grpc-js';
import { ApiError, apiError } from '../errors.ts';
import { Cancelled, StoreUnavailable } from '../storage/store-errors.ts';

/** The error that the caller gets: every other one becomes one of the table, so that no internal cause reaches him. */
export function toApiError(error: unknown, requestId: string): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof Cancelled) return apiError('DEADLINE_EXCEEDED');
  if (error instanceof StoreUnavailable) return apiError('UNAVAILABLE');
  return apiError('INTERNAL', { requestId }, { cause: error });
}

/** The caller's fault. For some of them gRPC says which status. */
export function unreadable(detail: string, grpcStatus: Status = Status.INVALID_ARGUMENT): ApiError {
  return apiError('MALFORMED_BODY', { detail }, { grpcStatus });
}

/** The headers of an error over any protocol. */
export function errorHeaders({ headers, retryAfterSeconds }: ApiError): Readonly<Record<string, string>> {
  return retryAfterSeconds === undefined ? headers : { ...headers, 'retry-after': String(retryAfterSeconds) };
}
