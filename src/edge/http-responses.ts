/** Responses over HTTP: JSON for REST, and the encoded message for Connect. */

import type { HttpBody } from '../../gen/google/api/httpbody.ts';
import type { HttpResponse, Response } from '../interceptors/chain.ts';
import type { Operation } from '../proto/operations.ts';
import { EDGE_HEADERS } from './headers.ts';
import { jsonArrayWriter, jsonWriter } from './json.ts';

/** RFC 9110, section 15.4.5. */
export const NOT_MODIFIED: HttpResponse = { status: 304, headers: {}, body: '' };

const writers = new WeakMap<Operation, (message: unknown) => string>();

/** The REST response of an operation. */
export function restResponse(operation: Operation, { message }: Response, isHead: boolean): HttpResponse {
  const { status } = operation.response;
  if (operation.isRaw) {
    const { contentType, data } = message as HttpBody;
    return toHttpResponse(status, contentType, Buffer.from(data), isHead);
  }
  if (status === 204) return { status, headers: {}, body: '' };
  return toHttpResponse(status, 'application/json', writerOf(operation)(message), isHead);
}

/** The response of a unary call of the Connect protocol (https://connectrpc.com/docs/protocol). */
export function connectResponse({ bytes }: Response): HttpResponse {
  return toHttpResponse(200, 'application/proto', bytes, false);
}

/** A response with this body. For HEAD the body is left out, and a header tells Envoy's filter its length. */
export function toHttpResponse(status: number, type: string, body: string | Buffer, isHead: boolean): HttpResponse {
  const length = String(Buffer.byteLength(body));
  const contentType = type === '' ? {} : { 'content-type': type };
  if (isHead) return { status, headers: { ...contentType, [EDGE_HEADERS.length]: length }, body: '' };
  return { status, headers: { ...contentType, 'content-length': length }, body };
}

function writerOf(operation: Operation): (message: unknown) => string {
  let write = writers.get(operation);
  if (write === undefined) {
    write = toWriter(operation);
    writers.set(operation, write);
  }
  return write;
}

/** A list is written as a bare array; its page token is in the Link header. */
function toWriter({ output, response: { list } }: Operation): (message: unknown) => string {
  if (list === undefined) return jsonWriter(output);
  const writeItems = jsonArrayWriter(list);
  return (message) => writeItems((message as Readonly<Record<string, unknown>>)[list.localName]);
}
