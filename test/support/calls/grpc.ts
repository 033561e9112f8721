/** gRPC calls as promises, with message and headers, or the error with its details. */
import {
  type CallOptions,
  type Client,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import { REQUESTS } from '../../../gen/client/methods.ts';
import { BadRequest, ErrorInfo, QuotaFailure, RetryInfo } from '../../../gen/google/rpc/error_details.ts';
import { Status } from '../../../gen/google/rpc/status.ts';
import type { Input } from '../../../src/platform/client/methods.ts';

export const insecure = credentials.createInsecure();

export function bearer(key: string | undefined): Metadata {
  const metadata = new Metadata();
  if (key !== undefined) metadata.set('authorization', `Bearer ${key}`);
  return metadata;
}

export function detailsOf(error: Pick<ServiceError, 'metadata'>) {
  const [bytes] = error.metadata.get('grpc-status-details-bin');
  return readDetails(bytes as Buffer);
}

export function readDetails(status: Uint8Array) {
  const { details } = Status.decode(status);
  const decode = <T>(type: string, codec: { decode(bytes: Uint8Array): T }): T | undefined => {
    const any = details.find(({ typeUrl }) => typeUrl === `type.googleapis.com/google.rpc.${type}`);
    return any && codec.decode(any.value);
  };
  return {
    errorInfo: decode('ErrorInfo', ErrorInfo),
    badRequest: decode('BadRequest', BadRequest),
    retryInfo: decode('RetryInfo', RetryInfo),
    quotaFailure: decode('QuotaFailure', QuotaFailure),
  };
}

export interface Method<Q, A> {
  readonly path: string;
  readonly requestSerialize: (request: Q) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => A;
}

/** A request as tests write it: what is absent has its default. */
export type Partly<Q> = Input<NoInfer<Q>>;

function complete<Q, A>({ path }: Method<Q, A>, request: Partly<Q>): Q {
  return ((request && REQUESTS[path]?.fromPartial(request as never)) ?? request) as Q;
}

/** Calls one method. Resolves with the message and the headers; rejects with the ServiceError. */
export function unary<Q, A>(
  client: Client,
  method: Method<Q, A>,
  request: Partly<Q>,
  metadata = new Metadata(),
  options: Partial<CallOptions> = {},
): Promise<{ message: A; headers: Metadata }> {
  return new Promise((resolve, reject) => {
    let headers = new Metadata();
    client
      .makeUnaryRequest(
        ...([method.path, method.requestSerialize, method.responseDeserialize] as const),
        ...([complete(method, request), metadata, options] as const),
        (error, response) => (response === undefined ? reject(error) : resolve({ message: response, headers })),
      )
      .on('metadata', (received) => {
        headers = received;
      });
  });
}

export function stream<Q, A>(
  client: Client,
  method: Method<Q, A>,
  request: Partly<Q>,
  metadata = new Metadata(),
  options: Partial<CallOptions> = {},
): ClientReadableStream<A> {
  const { path, requestSerialize, responseDeserialize } = method;
  const message = complete(method, request);
  return client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, message, metadata, options);
}
