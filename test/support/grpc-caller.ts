/** A client of the gRPC services over a real channel. */
import { Client, type Metadata, type ServiceError } from '@grpc/grpc-js';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { InventoryServiceService as Inventory } from '../../gen/petstore/v1/inventory.ts';
import { type Order, OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { bearer, detailsOf, insecure, type Method, type Partly, unary } from './grpc.ts';

interface CallSettings {
  readonly timeoutMs?: number;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** The error that a call ended with. */
export type Failure = ReturnType<typeof toFailure>;

export class GrpcCaller {
  /** The channel. */
  readonly client: Client;
  readonly #key: string | undefined;
  readonly #isOwner: boolean;

  constructor(address: string | Client, key: string | undefined) {
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

  /** Calls one method. Rejects with the ServiceError. */
  async call<Q, A>(method: Method<Q, A>, request: Partly<Q>, settings?: CallSettings): Promise<A> {
    return (await this.exchange(method, request, settings)).message;
  }

  /** Calls one method. Resolves with the response headers too. */
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

  /** Calls a method with raw bytes as its message. */
  failureOfBytes(path: string, bytes: Uint8Array): Promise<Failure> {
    const method = {
      path,
      requestSerialize: () => Buffer.from(bytes),
      responseDeserialize: (response: Buffer) => response,
    };
    return this.failure(method, undefined);
  }

  /** Creates a category and returns its id. */
  async category(name = 'Cats'): Promise<bigint> {
    return (await this.call(Categories.createCategory, { category: { name } })).id;
  }

  /** Creates a pet with `stock` units and returns its id. */
  async pet({ stock = 0 }: { readonly stock?: number } = {}): Promise<bigint> {
    const categoryId = await this.category();
    const { id } = await this.call(Pets.createPet, { pet: { name: 'Tom', categoryId } });
    if (stock > 0) await this.call(Inventory.setInventory, { petId: id, inventory: { quantity: stock } });
    return id;
  }

  /** Places an order and returns its id. */
  async order(order: Order = {}): Promise<bigint> {
    return (await this.call(Orders.placeOrder, { order })).id ?? -1n;
  }
}

function toFailure(error: ServiceError) {
  const { code, details: message, metadata } = error;
  const hasDetails = metadata.get('grpc-status-details-bin').length > 0;
  const { errorInfo, badRequest } = hasDetails ? detailsOf(error) : {};
  return {
    code,
    message,
    metadata,
    /** The reason of google.rpc.ErrorInfo; undefined when there are no details. */
    reason: errorInfo?.reason,
    domain: errorInfo?.domain,
    /** The fields of google.rpc.BadRequest. */
    fields: badRequest?.fieldViolations.map(({ field }) => field) ?? [],
  };
}
