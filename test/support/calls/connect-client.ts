/** Unary calls of the Connect protocol without a library, and assertions for their responses. */
import type { ExecutionContext } from 'ava';
import { ErrorInfo } from '../../../gen/google/rpc/error_details.ts';
import { internalHeaders } from '../contract/description.ts';
import type { TestStack } from '../service/stack.ts';
import type { Exchanged } from './http2.ts';

type Answer = Pick<Exchanged, 'status' | 'headers' | 'body'>;

/** A unary call by hand. Headers given here replace what a client sends; an empty one is not sent. */
export async function call(
  { rest, key }: Pick<TestStack, 'rest' | 'key'>,
  path: string,
  message: Uint8Array,
  changes: Readonly<Record<string, string>> = {},
) {
  const sent = {
    'content-type': 'application/proto',
    'connect-protocol-version': '1',
    authorization: `Bearer ${key}`,
    ...changes,
  };
  const headers = Object.entries(sent).filter(([, value]) => value !== '');
  const response = await fetch(`${rest.url}${path}`, { method: 'POST', headers, body: Buffer.from(message) });
  const body = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, body };
}

/** The headers of every response: limits, request id and length, and no internal ones. */
function hasCommonHeaders(t: ExecutionContext<unknown>, { headers, body }: Answer): void {
  for (const name of ['limit', 'remaining', 'reset']) t.regex(headers.get(`x-ratelimit-${name}`) ?? '', /^\d+$/, name);
  t.regex(headers.get('x-request-id') ?? '', /^[\da-f-]{36}$/);
  t.is(headers.get('content-length'), String(body.length));
  t.deepEqual(internalHeaders(headers), []);
}

export function isSuccess(t: ExecutionContext<unknown>, response: Answer): Buffer {
  t.is(response.status, 200, response.body.toString());
  t.is(response.headers.get('content-type'), 'application/proto');
  hasCommonHeaders(t, response);
  return response.body;
}

export function isConnectError(
  t: ExecutionContext<unknown>,
  response: Answer,
  status: number,
  code: string,
  reason: string,
) {
  const text = response.body.toString();
  t.is(response.status, status, text);
  t.is(response.headers.get('content-type'), 'application/json');
  hasCommonHeaders(t, response);
  const error = JSON.parse(text);
  t.deepEqual(Object.keys(error), ['code', 'message', 'details']);
  t.is(error.code, code);
  const [info] = error.details.filter(({ type }: { type: string }) => type === 'google.rpc.ErrorInfo');
  const given = ErrorInfo.decode(Buffer.from(info?.value ?? '', 'base64'));
  t.deepEqual([given.reason, given.domain], [reason, 'petstore']);
  return error.message as string;
}
