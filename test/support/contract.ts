/** Assertions for responses of the REST side. description.ts checks each response. */
import type { ExecutionContext } from 'ava';
import type { RestResponse } from './rest-client.ts';

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

/** Asserts a 400 INVALID_ARGUMENT that names exactly these fields or parameters. */
export function isInvalid(t: ExecutionContext<unknown>, response: RestResponse, ...names: string[]): void {
  isError(t, response, 400, 'INVALID_ARGUMENT');
  const message: string = response.body.message;
  const named = new Set(message.split('; ').map((part) => part.split(': ', 1)[0]));
  t.deepEqual([...named].sort(), names.sort(), message);
}
