/** Turns every error into an ApiError, so that no internal cause reaches a caller. */
import { ApiError, apiError } from '../errors.ts';
import { Cancelled, StoreUnavailable } from '../storage/store-errors.ts';

export function toApiError(error: unknown, requestId: string): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof Cancelled) return apiError('DEADLINE_EXCEEDED');
  if (error instanceof StoreUnavailable) return apiError('UNAVAILABLE');
  return apiError('INTERNAL', { requestId }, { cause: error });
}
