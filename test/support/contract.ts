/** Assertions for responses of the REST side, and promises that hold for every response. */
import type { ExecutionContext } from 'ava';
import type { RestResponse } from './rest-client.ts';

const INTERNAL_HEADER = /^(x-petstore-|x-envoy-|grpc-)/;

/** Throws when a response violates a promise that holds for every response. */
export function checkPromises(method: string, status: number, headers: Headers, text: string): void {
  const violation = violationOf(method, status, headers, text);
  if (violation !== undefined)
    throw new Error(`the response to ${method} violates the contract: ${violation}: ${text}`);
}

/** Undefined when the response keeps the promises. */
function violationOf(method: string, status: number, headers: Headers, text: string): string | undefined {
  const internal = [...headers.keys()].find((name) => INTERNAL_HEADER.test(name));
  if (internal !== undefined) return `it has the internal header ${internal}`;
  if (method === 'HEAD') return text === '' ? undefined : 'HEAD has a body';
  return status >= 400 ? violationOfError(status, headers, text) : undefined;
}

function violationOfError(status: number, headers: Headers, text: string): string | undefined {
  if (headers.get('content-type') !== 'application/json') return `an error is ${headers.get('content-type')}`;
  const error: unknown = JSON.parse(text);
  if (typeof error !== 'object' || error === null) return 'an error is not an object';
  if (Object.keys(error).sort().join() !== 'code,message,status') return 'an error is {code, message, status}';
  const { code, message, status: inBody } = error as Record<string, unknown>;
  if (typeof code !== 'string' || typeof message !== 'string' || message === '')
    return 'the code or the message is empty';
  return inBody === status ? undefined : `the error says ${inBody}, the status line ${status}`;
}

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
