/** Answers as they leave the server over HTTP: the JSON of REST, and the message alone for Connect. */

import type { HttpBody } from '../../gen/google/api/httpbody.ts';
import type { Answer, HttpAnswer } from '../interceptors/chain.ts';
import type { Operation } from '../proto/operations.ts';
import { EDGE_HEADERS } from './headers.ts';
import { jsonArrayWriter, jsonWriter } from './json.ts';

/** The caller has the answer already (RFC 9110, section 15.4.5). */
export const NOT_MODIFIED: HttpAnswer = { status: 304, headers: {}, body: '' };

const writers = new WeakMap<Operation, (message: unknown) => string>();

/** The answer of an operation as its REST callers have it. */
export function restAnswer(operation: Operation, { message }: Answer, isHead: boolean): HttpAnswer {
  const { status } = operation.answer;
  if (operation.isRaw) {
    const { contentType, data } = message as HttpBody;
    return toHttpAnswer(status, contentType, Buffer.from(data), isHead);
  }
  if (status === 204) return { status, headers: {}, body: '' };
  return toHttpAnswer(status, 'application/json', writerOf(operation)(message), isHead);
}

/** The answer of a unary call of the Connect protocol (https://connectrpc.com/docs/protocol). */
export function connectAnswer({ bytes }: Answer): HttpAnswer {
  return toHttpAnswer(200, 'application/proto', bytes, false);
}

/** An answer with a body. To HEAD it has none, and Envoy's filter is told what its length would be. */
export function toHttpAnswer(status: number, type: string, body: string | Buffer, isHead: boolean): HttpAnswer {
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

/** A list is a bare array: its page token is in the Link header. */
function toWriter({ output, answer: { list } }: Operation): (message: unknown) => string {
  if (list === undefined) return jsonWriter(output);
  const writeItems = jsonArrayWriter(list);
  return (message) => writeItems((message as Readonly<Record<string, unknown>>)[list.localName]);
}
