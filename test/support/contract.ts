/** What every answer of the REST side has in common, whoever made it. */
import type { ExecutionContext } from 'ava';
import type { RestResponse } from './rest-client.ts';

const INTERNAL_HEADER = /^(x-petstore-|x-envoy-|grpc-)/;

/** Fails when the answer to `method` breaks a promise that holds for every answer. */
export function checkPromises(method: string, status: number, headers: Headers, text: string): void {
  const breach = breachOf(method, status, headers, text);
  if (breach !== undefined) throw new Error(`the answer to ${method} breaks the contract: ${breach}: ${text}`);
}

/** How an answer breaks such a promise; undefined when it breaks none. */
function breachOf(method: string, status: number, headers: Headers, text: string): string | undefined {
  const internal = [...headers.keys()].find((name) => INTERNAL_HEADER.test(name));
  if (internal !== undefined) return `it carries the internal header ${internal}`;
  if (method === 'HEAD') return text === '' ? undefined : 'HEAD has a body';
  return status >= 400 ? breachOfError(status, headers, text) : undefined;
}

function breachOfError(status: number, headers: Headers, text: string): string | undefined {
  if (headers.get('content-type') !== 'application/json') return `an error is ${headers.get('content-type')}`;
  const error: unknown = JSON.parse(text);
  if (typeof error !== 'object' || error === null) return 'an error is no object';
  if (Object.keys(error).sort().join() !== 'code,message,status') return 'an error is {code, message, status}';
  const { code, message, status: inBody } = error as Record<string, unknown>;
  if (typeof code !== 'string' || typeof message !== 'string' || message === '') return 'an error says nothing';
  return inBody === status ? undefined : `the error says ${inBody}, the status line ${status}`;
}

/** Asserts that the answer is this error; its message matches `message`. */
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
