/** The requests of a chaos run, over REST and over gRPC. */
import { Client, type ServiceError, status } from '@grpc/grpc-js';
import { InventoryServiceService as Inventory } from '../../../gen/petstore/v1/inventory.ts';
import { OrderServiceService as Orders } from '../../../gen/petstore/v1/orders.ts';
import { PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import { toPetstoreError } from '../../../src/client/petstore-error.ts';
import { toProtoStatus } from '../../../src/shop/pet-status.ts';
import { toJson } from '../followers.ts';
import { bearer, insecure, type Method, type Partly, unary } from '../grpc.ts';
import { RestClient, type RestResponse } from '../rest-client.ts';
import type { Order, Outcome, PetStatus, Request, Value } from './history.ts';

/** Sends a request. Rejects when the response breaks the contract. */
export type Ask = (request: Request) => Promise<Outcome>;

type Send = <Q, A>(method: Method<Q, A>, message: Partly<Q>) => Promise<A>;

/** A request in both protocols. */
interface Call {
  readonly rest: readonly [method: string, path: string, json?: unknown];
  readonly grpc: (send: Send) => Promise<object>;
  /** What the response has: the field of a value, and of the gRPC message if it is a list. */
  readonly has: 'pet' | 'pets' | 'item' | 'order' | 'orders' | 'done';
}

export function overRest(address: string, key: string): Ask {
  const client = new RestClient(`http://${address}`, key);
  return async (request) => {
    const { rest, has } = toCall(request);
    const [method, path, json] = rest;
    let response: RestResponse;
    try {
      response = await client.send(method, path, json === undefined ? {} : { json });
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // fetch's error for a failed connection
      return { kind: 'unknown', why: String((error.cause as Error | undefined)?.message ?? error.message) };
    }
    // Any other 5xx is a fault, which the checker reports as a refusal that it can't explain.
    if ([408, 503, 504].includes(response.status)) {
      return { kind: 'unknown', why: `${response.status} ${response.body.code}` };
    }
    if (response.status >= 400) return { kind: 'refused', code: response.body.code };
    return { kind: 'ok', value: toValue(has, response.text === '' ? undefined : response.body) };
  };
}

/** Statuses after which the request may have been executed or not. Any other of a server's is a fault. */
const UNKNOWN: readonly status[] = [status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.CANCELLED];
/** What grpc-js itself says, as INTERNAL, when a response was cut off in the middle. */
const CUT_OFF = /^Received RST_STREAM with code [02]\b/;
/** Reconnects soon, so that the client's backoff does not look like an outage of the service. */
const SOON = { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 500 };

export function overGrpc(address: string, key: string, timeoutMs: number): { ask: Ask; close: () => void } {
  const client = new Client(address, insecure, { ...SOON, 'grpc.use_local_subchannel_pool': 1 });
  const send: Send = async (method, message) =>
    (await unary(client, method, message, bearer(key), { deadline: Date.now() + timeoutMs })).message;
  return {
    async ask(request) {
      const { grpc, has } = toCall(request);
      try {
        const body: Record<string, unknown> = toJson(await grpc(send));
        return { kind: 'ok', value: toValue(has, has.endsWith('s') ? body[has] : body) };
      } catch (error) {
        const { code, grpcStatus, message } = toPetstoreError(error as ServiceError);
        const isUnknown = UNKNOWN.includes(grpcStatus) || (code === 'INTERNAL' && CUT_OFF.test(message));
        if (!isUnknown) return { kind: 'refused', code };
        return { kind: 'unknown', why: `${status[grpcStatus]}: ${message}` };
      }
    },
    close: () => client.close(),
  };
}

/** The value of a body as REST has it. */
// biome-ignore lint/suspicious/noExplicitAny: the body of whatever was asked for
function toValue(has: Call['has'], body: any): Value {
  if (has === 'done') return { done: true };
  if (has === 'order') return { order: toOrder(body) };
  if (has === 'orders') return { orders: body.map(toOrder) };
  return { [has]: body } as unknown as Value;
}

const toProto = (wanted: PetStatus | undefined) => wanted && toProtoStatus(wanted);

/** A call that names a pet alone. */
const ofPet =
  <A extends object>(method: string, path: string, rpc: Method<{ petId: bigint }, A>, has: Call['has']) =>
  ({ petId }: { readonly petId: number }): Call => ({
    rest: [method, `${path}/${petId}`],
    grpc: (send) => send(rpc, { petId: BigInt(petId) } as Partly<{ petId: bigint }>),
    has,
  });

const ofOrder =
  <A extends object>(method: string, rpc: Method<{ orderId: bigint }, A>, has: Call['has']) =>
  ({ orderId }: { readonly orderId: number }): Call => ({
    rest: [method, `/store/orders/${orderId}`],
    grpc: (send) => send(rpc, { orderId: BigInt(orderId) } as Partly<{ orderId: bigint }>),
    has,
  });

const CALLS: { readonly [Name in Request['do']]: (request: Extract<Request, { do: Name }>) => Call } = {
  getPet: ofPet('GET', '/pets', Pets.getPet, 'pet'),
  deletePet: ofPet('DELETE', '/pets', Pets.deletePet, 'done'),
  getInventory: ofPet('GET', '/store/inventory', Inventory.getInventoryItem, 'item'),
  getOrder: ofOrder('GET', Orders.getOrder, 'order'),
  cancelOrder: ofOrder('DELETE', Orders.cancelOrder, 'done'),
  createPet: ({ name, categoryId }) => ({
    rest: ['POST', '/pets', { name, categoryId }],
    grpc: (send) => send(Pets.createPet, { pet: { name, categoryId: BigInt(categoryId) } }),
    has: 'pet',
  }),
  findPets: ({ petIds }) => ({
    rest: ['GET', `/pets?${petIds.map((id) => `ids=${id}`).join('&')}`],
    grpc: (send) => send(Pets.listPets, { ids: petIds.map(BigInt) }),
    has: 'pets',
  }),
  replacePet: ({ petId, name, categoryId, status: wanted }) => ({
    rest: ['PUT', `/pets/${petId}`, { name, categoryId, status: wanted }],
    grpc: (send) => {
      const pet = { name, categoryId: BigInt(categoryId), status: toProto(wanted) };
      return send(Pets.replacePet, { petId: BigInt(petId), pet });
    },
    has: 'pet',
  }),
  updatePet: ({ petId, name, status: wanted }) => ({
    rest: ['PATCH', `/pets/${petId}`, { name, status: wanted }],
    grpc: (send) => send(Pets.updatePet, { petId: BigInt(petId), pet: { name, status: toProto(wanted) } }),
    has: 'pet',
  }),
  setInventory: ({ petId, quantity }) => ({
    rest: ['PUT', `/store/inventory/${petId}`, { quantity }],
    grpc: (send) => send(Inventory.setInventory, { petId: BigInt(petId), inventory: { quantity } }),
    has: 'item',
  }),
  placeOrder: ({ petId, quantity, complete, tag }) => ({
    rest: ['POST', '/store/orders', { petId, quantity, complete, shipDate: tagToTime(tag) }],
    grpc: (send) => {
      const shipDate = { seconds: BigInt(tagToTime(tag).getTime() / 1_000), nanos: 0 };
      return send(Orders.placeOrder, { order: { petId: BigInt(petId), quantity, complete, shipDate } });
    },
    has: 'order',
  }),
  listOrders: ({ petId }) => ({
    rest: ['GET', `/store/orders?petId=${petId}&limit=100`],
    grpc: (send) => send(Orders.listOrders, { petId: BigInt(petId), limit: 100 }),
    has: 'orders',
  }),
  updateOrder: ({ orderId, quantity, complete }) => ({
    rest: ['PATCH', `/store/orders/${orderId}`, { quantity, complete }],
    grpc: (send) => send(Orders.updateOrder, { orderId: BigInt(orderId), order: { quantity, complete } }),
    has: 'order',
  }),
};

function toCall(request: Request): Call {
  return (CALLS[request.do] as (one: Request) => Call)(request);
}

/** All orders of a chaos run name a pet, and have a ship date, which is the client's number for it. */
export function toOrder(order: Omit<Order, 'tag'> & { readonly shipDate: string }): Order {
  const { id, petId, quantity, complete, shipDate } = order;
  return { id, petId, quantity, complete, tag: (Date.parse(shipDate) - FIRST_MS) / 1_000 };
}

const FIRST_MS = Date.UTC(2030, 0, 1);

/** A client knows its orders without a response. */
export function tagToTime(tag: number): Date {
  return new Date(FIRST_MS + tag * 1_000);
}
