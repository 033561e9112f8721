/** The requests of a chaos run over gRPC. */
import { Client, type ServiceError, status } from '@grpc/grpc-js';
import { CategoryServiceService as Categories, type Category } from '../../../gen/petstore/v1/categories.ts';
import { InventoryServiceService as Inventory, type InventoryItem } from '../../../gen/petstore/v1/inventory.ts';
import { type Order, OrderServiceService as Orders } from '../../../gen/petstore/v1/orders.ts';
import { type Pet, PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import { toPetstoreError } from '../../../src/client/petstore-error.ts';
import { fromProtoStatus, toProtoStatus } from '../../../src/shop/pet-status.ts';
import { bearer, insecure, type Method, type Partly, unary } from '../grpc.ts';
import type * as History from './history.ts';
import { tagToTime, timeToTag } from './tags.ts';

/** Statuses after which the request may have been executed or not. Any other of a server's is a fault. */
const UNKNOWN: readonly status[] = [status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.CANCELLED];
/** What grpc-js itself says, as INTERNAL, when a response was cut off in the middle. */
const CUT_OFF = /^Received RST_STREAM with code [02]\b/;

export interface GrpcClient {
  call(request: History.Request, timeoutMs: number): Promise<History.Outcome>;
  close(): void;
}

/** Reconnects soon, so that the client's backoff does not look like an outage of the service. */
const SOON = { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 500 };

export function openGrpcClient(address: string, key: string): GrpcClient {
  const client = new Client(address, insecure, { ...SOON, 'grpc.use_local_subchannel_pool': 1 });
  return {
    async call(request, timeoutMs) {
      const send: Send = async (method, message) =>
        (await unary(client, method, message, bearer(key), { deadline: Date.now() + timeoutMs })).message;
      try {
        return { kind: 'ok', value: await ask(send, request) };
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

type Send = <Q, A>(method: Method<Q, A>, message: Partly<Q>) => Promise<A>;
type Of<Name extends string> = Extract<History.Request, { do: Name }>;

const DONE = { done: true } as const;

function ask(send: Send, request: History.Request): Promise<History.Value> {
  switch (request.do) {
    case 'createPet':
    case 'getPet':
    case 'findPets':
    case 'replacePet':
    case 'updatePet':
    case 'deletePet':
      return askPets(send, request);
    case 'getInventory':
    case 'setInventory':
      return askInventory(send, request);
    case 'placeOrder':
    case 'listOrders':
    case 'getOrder':
    case 'updateOrder':
    case 'cancelOrder':
      return askOrders(send, request);
    default:
      return askCategories(send, request);
  }
}

async function askPets(
  send: Send,
  request: Of<'createPet' | 'getPet' | 'findPets' | 'replacePet' | 'updatePet' | 'deletePet'>,
): Promise<History.Value> {
  switch (request.do) {
    case 'createPet': {
      const pet = { name: request.name, categoryId: BigInt(request.categoryId) };
      return { pet: toPet(await send(Pets.createPet, { pet })) };
    }
    case 'getPet':
      return { pet: toPet(await send(Pets.getPet, { petId: BigInt(request.petId) })) };
    case 'findPets': {
      const { pets } = await send(Pets.listPets, { ids: request.petIds.map(BigInt), pageToken: '' });
      return { pets: pets.map(toPet) };
    }
    case 'replacePet': {
      const { petId, name, categoryId, status: wanted } = request;
      const pet = { name, categoryId: BigInt(categoryId), status: wanted && toProtoStatus(wanted) };
      return { pet: toPet(await send(Pets.replacePet, { petId: BigInt(petId), pet })) };
    }
    case 'updatePet': {
      const { petId, name, status: wanted } = request;
      const pet = { name, status: wanted && toProtoStatus(wanted) };
      return { pet: toPet(await send(Pets.updatePet, { petId: BigInt(petId), pet })) };
    }
    case 'deletePet':
      await send(Pets.deletePet, { petId: BigInt(request.petId) });
      return DONE;
  }
}

async function askInventory(send: Send, request: Of<'getInventory' | 'setInventory'>): Promise<History.Value> {
  const petId = BigInt(request.petId);
  if (request.do === 'getInventory') return { item: toItem(await send(Inventory.getInventoryItem, { petId })) };
  return { item: toItem(await send(Inventory.setInventory, { petId, inventory: { quantity: request.quantity } })) };
}

async function askOrders(
  send: Send,
  request: Of<'placeOrder' | 'listOrders' | 'getOrder' | 'updateOrder' | 'cancelOrder'>,
): Promise<History.Value> {
  switch (request.do) {
    case 'placeOrder': {
      const { petId, quantity, complete, tag } = request;
      const shipDate = { seconds: BigInt(tagToTime(tag).getTime() / 1_000), nanos: 0 };
      return {
        order: toOrder(
          await send(Orders.placeOrder, { order: { petId: BigInt(petId), quantity, complete, shipDate } }),
        ),
      };
    }
    case 'listOrders': {
      const wanted = { petId: BigInt(request.petId), limit: 100, pageToken: '' };
      return { orders: (await send(Orders.listOrders, wanted)).orders.map(toOrder) };
    }
    case 'getOrder':
      return { order: toOrder(await send(Orders.getOrder, { orderId: BigInt(request.orderId) })) };
    case 'updateOrder': {
      const { orderId, quantity, complete } = request;
      return {
        order: toOrder(await send(Orders.updateOrder, { orderId: BigInt(orderId), order: { quantity, complete } })),
      };
    }
    case 'cancelOrder':
      await send(Orders.cancelOrder, { orderId: BigInt(request.orderId) });
      return DONE;
  }
}

async function askCategories(
  send: Send,
  request: Of<'createCategory' | 'getCategory' | 'replaceCategory' | 'updateCategory' | 'deleteCategory'>,
): Promise<History.Value> {
  if (request.do === 'createCategory') {
    const { name, description } = request;
    return { category: toCategory(await send(Categories.createCategory, { category: { name, description } })) };
  }
  const categoryId = BigInt(request.categoryId);
  switch (request.do) {
    case 'getCategory':
      return { category: toCategory(await send(Categories.getCategory, { categoryId })) };
    case 'replaceCategory': {
      const category = { name: request.name, description: request.description };
      return { category: toCategory(await send(Categories.replaceCategory, { categoryId, category })) };
    }
    case 'updateCategory': {
      const category = { name: request.name, description: request.description };
      return { category: toCategory(await send(Categories.updateCategory, { categoryId, category })) };
    }
    case 'deleteCategory':
      await send(Categories.deleteCategory, { categoryId });
      return DONE;
  }
}

function toPet({ id, name, categoryId, status: shown }: Pet): History.Pet {
  return { id: Number(id), name, categoryId: Number(categoryId), status: toStatus(shown) };
}

function toItem({ petId, quantity, status: shown }: InventoryItem): History.Item {
  return { petId: Number(petId), quantity, status: toStatus(shown) };
}

function toOrder({ id, petId, quantity = 0, complete = false, shipDate }: Order): History.Order {
  const tag = timeToTag(new Date(Number(shipDate?.seconds) * 1_000));
  return { id: Number(id), petId: Number(petId), quantity, complete, tag };
}

function toCategory({ id, name, description = '' }: Category): History.Category {
  return { id: Number(id), name, description };
}

function toStatus(shown: Pet['status']): History.PetStatus {
  const found = fromProtoStatus(shown);
  if (found === undefined) throw new Error(`a pet has the status ${shown}`);
  return found;
}
