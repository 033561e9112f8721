/** Unary calls of the Connect protocol without a library, and assertions for their responses. */
import type { ExecutionContext } from 'ava';
import { ErrorInfo } from '../../gen/google/rpc/error_details.ts';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import type { TestStack } from './stack.ts';
import { rawHttp1 } from './wire.ts';

export interface ConnectResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

const INTERNAL_HEADER = /^(x-petstore-|x-envoy-|grpc-)/;

/** A unary call by hand. Headers given here replace what a client sends; an empty one is not sent. */
export async function call(
  { rest, key }: Pick<TestStack, 'rest' | 'key'>,
  path: string,
  message: Uint8Array,
  changes: Readonly<Record<string, string>> = {},
): Promise<ConnectResponse> {
  const sent = {
    'content-type': 'application/proto',
    'connect-protocol-version': '1',
    authorization: `Bearer ${key}`,
    ...changes,
  };
  const headers = Object.entries(sent).filter(([, value]) => value !== '');
  const response = await fetch(`${rest.url}${path}`, { method: 'POST', headers, body: Buffer.from(message) });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, bytes };
}

/** The headers of every response: limits, request id and length, and no internal ones. */
function hasCommonHeaders(t: ExecutionContext<unknown>, { headers, bytes }: ConnectResponse): void {
  for (const name of ['limit', 'remaining', 'reset']) t.regex(headers.get(`x-ratelimit-${name}`) ?? '', /^\d+$/, name);
  t.regex(headers.get('x-request-id') ?? '', /^[\da-f-]{36}$/);
  t.is(headers.get('content-length'), String(bytes.length));
  t.deepEqual(
    [...headers.keys()].filter((name) => INTERNAL_HEADER.test(name)),
    [],
  );
}

export function isSuccess(t: ExecutionContext<unknown>, response: ConnectResponse): Buffer {
  t.is(response.status, 200, response.bytes.toString());
  t.is(response.headers.get('content-type'), 'application/proto');
  hasCommonHeaders(t, response);
  return response.bytes;
}

/** Asserts the shape of an error. Returns its message, and its details by type as bytes. */
export function isConnectError(
  t: ExecutionContext<unknown>,
  response: ConnectResponse,
  status: number,
  code: string,
  reason: string,
) {
  const text = response.bytes.toString();
  t.is(response.status, status, text);
  t.is(response.headers.get('content-type'), 'application/json');
  hasCommonHeaders(t, response);
  const error = JSON.parse(text);
  t.deepEqual(Object.keys(error), ['code', 'message', 'details']);
  t.is(error.code, code);
  const details = new Map<string, Buffer>();
  for (const { type, value } of error.details) details.set(type, Buffer.from(value, 'base64'));
  const info = ErrorInfo.decode(details.get('google.rpc.ErrorInfo') ?? Buffer.of());
  t.deepEqual([info.reason, info.domain], [reason, 'petstore']);
  return { message: error.message as string, details };
}

/** Calls CreateCategory over HTTP/1.1 with these header lines and raw bytes. Resolves with the error. */
export async function sendRaw(
  { publicAddress }: Pick<TestStack, 'publicAddress'>,
  lines: readonly string[],
  body: Buffer,
): Promise<ConnectResponse> {
  const head = [
    `POST ${Categories.createCategory.path} HTTP/1.1`,
    'Host: petstore',
    'Content-Type: application/proto',
    'Connect-Protocol-Version: 1',
    ...lines,
  ];
  const request = Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
  const { status, headers, body: bytes } = await rawHttp1(publicAddress, request);
  return { status, headers, bytes };
}
