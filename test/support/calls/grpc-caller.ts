/** A client of the gRPC services over a real channel. */
import { Client, type Metadata, type ServiceError } from '@grpc/grpc-js';
import { GrpcMakers } from '../../shop/resources.ts';
import { bearer, detailsOf, insecure, type Method, type Partly, unary } from './grpc.ts';

interface CallSettings {
  readonly timeoutMs?: number;
  readonly metadata?: Readonly<Record<string, string>>;
}

export type Failure = ReturnType<typeof toFailure>;

export class GrpcCaller extends GrpcMakers {
  readonly client: Client;
  readonly #key: string | undefined;
  readonly #isOwner: boolean;

  constructor(address: string | Client, key: string | undefined) {
    super();
    this.client = typeof address === 'string' ? new Client(address, insecure) : address;
    this.#key = key;
    this.#isOwner = typeof address === 'string';
  }

  /** The same client with another key, or without one. It needs no close. */
  withKey(key: string | undefined): GrpcCaller {
    return new GrpcCaller(this.client, key);
  }

  close(): void {
    if (this.#isOwner) this.client.close();
  }

  async call<Q, A>(method: Method<Q, A>, request: Partly<Q>, settings?: CallSettings): Promise<A> {
    return (await this.exchange(method, request, settings)).message;
  }

  exchange<Q, A>(
    method: Method<Q, A>,
    request: Partly<Q>,
    { timeoutMs, metadata = {} }: CallSettings = {},
  ): Promise<{ message: A; headers: Metadata }> {
    const sent = bearer(this.#key);
    for (const [name, value] of Object.entries(metadata)) sent.set(name, value);
    const options = timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
    return unary(this.client, method, request, sent, options);
  }

  /** Resolves with the error that a call ends with. Rejects when it succeeds. */
  async failure<Q, A>(method: Method<Q, A>, request: Partly<Q>, settings?: CallSettings): Promise<Failure> {
    try {
      await this.call(method, request, settings);
    } catch (error) {
      return toFailure(error as ServiceError);
    }
    throw new Error(`${method.path} succeeded`);
  }

  failureOfBytes(path: string, bytes: Uint8Array): Promise<Failure> {
    const method = {
      path,
      requestSerialize: () => Buffer.from(bytes),
      responseDeserialize: (response: Buffer) => response,
    };
    return this.failure(method, undefined);
  }
}

export function toFailure(error: ServiceError) {
  const { code, details: message, metadata } = error;
  const hasDetails = metadata.get('grpc-status-details-bin').length > 0;
  const { errorInfo, badRequest } = hasDetails ? detailsOf(error) : {};
  return {
    code,
    message,
    metadata,
    reason: errorInfo?.reason,
    domain: errorInfo?.domain,
    fields: badRequest?.fieldViolations.map(({ field }) => field) ?? [],
  };
}
