/** Assertions for responses of the REST side. description.ts checks each response. */
import type { ExecutionContext } from 'ava';
import type { RestResponse } from '../calls/rest-client.ts';

/** Asserts that the response is this error, with a message that matches `message`. */
export function isError(
  t: ExecutionContext<unknown>,
  response: RestResponse,
  status: number,
  code: string,
  message: string | RegExp = /./,
): void {
  t.like(response.body, { code, status }, response.text);
  t.is(response.status, status);
  if (typeof message === 'string') t.is(response.body.message, message);
  else t.regex(response.body.message, message);
}

export function isUnavailable(t: ExecutionContext<unknown>, response: RestResponse): void {
  isError(t, response, 503, 'UNAVAILABLE', 'the service is not available just now; try again shortly');
  t.is(response.headers.get('retry-after'), '1');
  t.false(response.headers.has('allow') || response.headers.has('www-authenticate'));
}

/** Asserts a 400 INVALID_ARGUMENT that names exactly these fields or parameters. */
export function isInvalid(t: ExecutionContext<unknown>, response: RestResponse, ...names: string[]): void {
  isError(t, response, 400, 'INVALID_ARGUMENT');
  const message: string = response.body.message;
  const named = new Set(message.split('; ').map((part) => part.split(': ', 1)[0]));
  t.deepEqual([...named].sort(), names.sort(), message);
}
