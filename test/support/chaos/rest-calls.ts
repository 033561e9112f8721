/** The requests of a chaos run over REST. */
import type { RestClient, RestRequest, RestResponse } from '../rest-client.ts';
import type { Order, Outcome, Request, Value } from './history.ts';
import { tagToTime, timeToTag } from './tags.ts';

interface RestCall {
  readonly method: string;
  readonly path: string;
  readonly json?: unknown;
  /** Reads the body of a success. */
  // biome-ignore lint/suspicious/noExplicitAny: the body of whatever was asked for
  readonly read: (body: any) => Value;
}

/** Sends a request. Rejects when the response breaks the contract. */
export async function callRest(client: RestClient, request: Request): Promise<Outcome> {
  const { method, path, json, read } = toRest(request);
  const options: RestRequest = json === undefined ? {} : { json };
  let response: RestResponse;
  try {
    response = await client.send(method, path, options);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // fetch's error for a failed connection
    return { kind: 'unknown', why: String((error.cause as Error | undefined)?.message ?? error.message) };
  }
  const { status, text } = response;
  // Any other 5xx is a fault, which the checker reports as a refusal that it can't explain.
  if ([408, 503, 504].includes(status)) return { kind: 'unknown', why: `${status} ${response.body.code}` };
  if (status >= 400) return { kind: 'refused', code: response.body.code };
  return { kind: 'ok', value: read(text === '' ? undefined : response.body) };
}

function toRest(request: Request): RestCall {
  switch (request.do) {
    case 'createPet':
    case 'getPet':
    case 'findPets':
    case 'replacePet':
    case 'updatePet':
    case 'deletePet':
      return toPetCall(request);
    case 'getInventory':
    case 'setInventory': {
      const path = `/store/inventory/${request.petId}`;
      if (request.do === 'getInventory') return { method: 'GET', path, read: (item) => ({ item }) };
      return { method: 'PUT', path, json: { quantity: request.quantity }, read: (item) => ({ item }) };
    }
    case 'placeOrder':
    case 'listOrders':
    case 'getOrder':
    case 'updateOrder':
    case 'cancelOrder':
      return toOrderCall(request);
    default:
      return toCategoryCall(request);
  }
}

type Of<Name extends string> = Extract<Request, { do: Name }>;

function toPetCall(
  request: Of<'createPet' | 'getPet' | 'findPets' | 'replacePet' | 'updatePet' | 'deletePet'>,
): RestCall {
  const read: RestCall['read'] = (pet) => ({ pet });
  switch (request.do) {
    case 'createPet':
      return { method: 'POST', path: '/pets', json: { name: request.name, categoryId: request.categoryId }, read };
    case 'getPet':
      return { method: 'GET', path: `/pets/${request.petId}`, read };
    case 'findPets':
      return {
        method: 'GET',
        path: `/pets?${request.petIds.map((id) => `ids=${id}`).join('&')}`,
        read: (pets) => ({ pets }),
      };
    case 'replacePet':
    case 'updatePet': {
      const { do: what, petId, ...json } = request;
      return { method: what === 'replacePet' ? 'PUT' : 'PATCH', path: `/pets/${petId}`, json, read };
    }
    case 'deletePet':
      return { method: 'DELETE', path: `/pets/${request.petId}`, read: () => ({ done: true }) };
  }
}

function toOrderCall(request: Of<'placeOrder' | 'listOrders' | 'getOrder' | 'updateOrder' | 'cancelOrder'>): RestCall {
  const read: RestCall['read'] = (order) => ({ order: toOrder(order) });
  switch (request.do) {
    case 'placeOrder': {
      const { petId, quantity, complete, tag } = request;
      const json = { petId, quantity, complete, shipDate: tagToTime(tag).toISOString() };
      return { method: 'POST', path: '/store/orders', json, read };
    }
    case 'listOrders':
      return {
        method: 'GET',
        path: `/store/orders?petId=${request.petId}&limit=100`,
        read: (orders) => ({ orders: orders.map(toOrder) }),
      };
    case 'getOrder':
      return { method: 'GET', path: `/store/orders/${request.orderId}`, read };
    case 'updateOrder': {
      const { orderId, quantity, complete } = request;
      return { method: 'PATCH', path: `/store/orders/${orderId}`, json: { quantity, complete }, read };
    }
    case 'cancelOrder':
      return { method: 'DELETE', path: `/store/orders/${request.orderId}`, read: () => ({ done: true }) };
  }
}

function toCategoryCall(
  request: Of<'createCategory' | 'getCategory' | 'replaceCategory' | 'updateCategory' | 'deleteCategory'>,
): RestCall {
  const read: RestCall['read'] = (category) => ({ category });
  if (request.do === 'createCategory') {
    const { name, description } = request;
    return { method: 'POST', path: '/categories', json: { name, description }, read };
  }
  const path = `/categories/${request.categoryId}`;
  switch (request.do) {
    case 'getCategory':
      return { method: 'GET', path, read };
    case 'replaceCategory':
    case 'updateCategory': {
      const { name, description } = request;
      return { method: request.do === 'replaceCategory' ? 'PUT' : 'PATCH', path, json: { name, description }, read };
    }
    case 'deleteCategory':
      return { method: 'DELETE', path, read: () => ({ done: true }) };
  }
}

/** All orders of a chaos run name a pet and have a ship date. */
export function toOrder(order: Omit<Order, 'tag'> & { readonly shipDate: string }): Order {
  const { id, petId, quantity, complete, shipDate } = order;
  return { id, petId, quantity, complete, tag: timeToTag(new Date(shipDate)) };
}
