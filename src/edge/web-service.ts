/**
 * WebService: health and public files, without a key. A file is sent in chunks, each after the previous one has been
 * written. A caller who does not read therefore holds a chunk or two in memory, here and in Envoy, not the whole file.
 */
import { Metadata, type ServerWritableStream } from '@grpc/grpc-js';
import type { HttpBody } from '../../gen/google/api/httpbody.ts';
import type { GetFileRequest } from '../../gen/petstore/web/v1/web.ts';
import { type ApiError, apiError } from '../errors.ts';
import { errorStatus } from '../grpc/http-response.ts';
import { headerOf } from '../interceptors/metadata.ts';
import { FILES, type ServedFile } from './files.ts';
import { EDGE_HEADERS, isHead, ORIGINAL_PATH } from './headers.ts';
import { toHttpError } from './http-errors.ts';

const CHUNK_BYTES = 16_384;

type FileCall = ServerWritableStream<GetFileRequest, HttpBody>;

/** An empty body without a content type. */
export async function checkHealth(): Promise<HttpBody> {
  return { contentType: '', data: Buffer.alloc(0), extensions: [] };
}

/** Handles `GetFile`. Calls `onFailure` for unexpected errors. */
export function fileSender(onFailure: (error: unknown) => void): (call: FileCall) => void {
  return (call) => {
    send(call).catch((cause: unknown) => {
      if (call.cancelled) return; // the caller has left
      onFailure(cause);
      fail(call, apiError('INTERNAL', { requestId: headerOf(call, 'x-request-id') ?? '' }));
    });
  };
}

async function send(call: FileCall): Promise<void> {
  const file = FILES.get(call.request.file);
  if (file === undefined) {
    return fail(call, apiError('ROUTE_NOT_FOUND', { method: 'GET', path: headerOf(call, ORIGINAL_PATH) ?? '' }));
  }
  const hasBody = !isHead(call); // the response to HEAD has the length of the uncompressed file
  const encoding = hasBody && acceptsGzip(headerOf(call, EDGE_HEADERS.acceptEncoding) ?? '') ? 'gzip' : 'identity';
  const bytes = await file.read(encoding);
  const metadata = toMetadata(file, encoding);
  // Only REST: with this header Envoy's filter would take the frames of a gRPC caller for the file.
  if (headerOf(call, ORIGINAL_PATH) !== undefined) metadata.set(EDGE_HEADERS.length, String(bytes.length));
  call.sendMetadata(metadata);
  for (const chunk of chunksOf(file.contentType, hasBody ? bytes : Buffer.alloc(0))) await write(call, chunk);
  call.end();
}

/** Resolves when the chunk has been written; rejects when the caller has left. */
function write(call: FileCall, chunk: HttpBody): Promise<void> {
  return new Promise((resolve, reject) => {
    call.write(chunk, (error?: Error | null) => (error ? reject(error) : resolve()));
  });
}

function fail(call: FileCall, error: ApiError): void {
  const http = toHttpError({ metadata: call.metadata, path: call.getPath() }, error);
  call.emit('error', errorStatus(error, http));
}

/** At least one chunk, because it carries the content type. */
function* chunksOf(contentType: string, bytes: Buffer): Generator<HttpBody> {
  for (let start = 0; start === 0 || start < bytes.length; start += CHUNK_BYTES) {
    yield { contentType, data: bytes.subarray(start, start + CHUNK_BYTES), extensions: [] };
  }
}

function toMetadata({ headers }: ServedFile, encoding: string): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  metadata.set(EDGE_HEADERS.grpcStatus, '0');
  metadata.set('vary', 'accept-encoding');
  if (encoding !== 'identity') metadata.set('content-encoding', encoding);
  return metadata;
}

/** RFC 9110, section 12.5.3, as far as needed: gzip is listed, and its weight is not zero. */
function acceptsGzip(header: string): boolean {
  return header.split(',').some((part) => /^\s*gzip\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/i.test(part));
}
