/** The requests of a chaos run, over REST and over gRPC. Their form in each follows from the proto files. */
import { Client, type ServiceError, status } from '@grpc/grpc-js';
import { toCallError } from '../../../src/platform/client/call-error.ts';
import { bearer, insecure, unary } from '../../support/calls/grpc.ts';
import { RestClient, type RestResponse } from '../../support/calls/rest-client.ts';
import { overGrpc, PUBLIC, type PublicOperation } from '../../support/contract/resources.ts';
import type { Order, OrderRow, Outcome, Request, Value } from './history.ts';

/** Sends a request. Rejects when the response breaks the contract. */
export type Ask = (request: Request) => Promise<Outcome>;

type Has = 'pet' | 'pets' | 'item' | 'order' | 'orders' | 'done';

/** The method of each request, and what its response is: a list is a field of the gRPC message. */
const METHODS: Readonly<Record<Request['do'], readonly [method: string, has: Has]>> = {
  createPet: ['CreatePet', 'pet'],
  findPets: ['ListPets', 'pets'],
  getPet: ['GetPet', 'pet'],
  deletePet: ['DeletePet', 'done'],
  replacePet: ['ReplacePet', 'pet'],
  updatePet: ['UpdatePet', 'pet'],
  getInventory: ['GetInventoryItem', 'item'],
  setInventory: ['SetInventory', 'item'],
  placeOrder: ['PlaceOrder', 'order'],
  listOrders: ['ListOrders', 'orders'],
  getOrder: ['GetOrder', 'order'],
  cancelOrder: ['CancelOrder', 'done'],
  updateOrder: ['UpdateOrder', 'order'],
};

interface Call {
  readonly operation: PublicOperation;
  readonly has: Has;
  /** The id in the path, the body, and the query. */
  readonly id: unknown;
  readonly body: Readonly<Record<string, unknown>> | undefined;
  readonly query: Readonly<Record<string, unknown>>;
}

function toCall(request: Request): Call {
  const [method, has] = METHODS[request.do];
  const operation = PUBLIC.find(({ name }) => name === method);
  if (operation === undefined) throw new Error(`there is no method ${method}`);
  const { do: what, petId, petIds: ids, orderId, tag, ...others } = request as Partial<Record<string, unknown>>;
  const shipDate = what === 'placeOrder' ? tagToTime(Number(tag)) : undefined;
  const fields = operation.idName === undefined ? { petId, shipDate, ...others } : others;
  const called = { operation, has, id: orderId ?? petId };
  if (operation.bodyField !== undefined) return { ...called, body: fields, query: {} };
  return { ...called, body: undefined, query: { ids, limit: what === 'listOrders' ? 100 : undefined, ...fields } };
}

export function restCaller(address: string, key: string): Ask {
  const client = new RestClient(`http://${address}`, key);
  return async (request) => {
    const { operation, has, id, body, query } = toCall(request);
    const parameters = Object.entries(query).flatMap(([name, value]) =>
      [value ?? []].flat().map((one) => `${name}=${one}`),
    );
    const path = operation.template.replace(/\{\w+\}/, String(id)) + (parameters.length > 0 ? '?' : '');
    let response: RestResponse;
    try {
      response = await client.send(operation.method, path + parameters.join('&'), { json: body });
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

/** As JSON has it, without what is undefined. */
const plain = (fields: object = {}) => JSON.parse(JSON.stringify(fields)) as object;

export function grpcCaller(address: string, key: string, timeoutMs: number): { ask: Ask; close: () => void } {
  const client = new Client(address, insecure, { ...SOON, 'grpc.use_local_subchannel_pool': 1 });
  return {
    async ask(request) {
      const { operation, has, id, body: inner, query } = toCall(request);
      const ofPath = operation.idName === undefined ? {} : { [operation.idName]: id };
      const options = { deadline: Date.now() + timeoutMs };
      try {
        const called = overGrpc(operation, plain({ ...query, ...ofPath }), plain(inner));
        const { message } = await unary(client, called, undefined, bearer(key), options);
        // In the JSON of protobuf an int64 is a string.
        const toNumber = (field: string, value: unknown) => (/^id$|Id$/.test(field) ? Number(value) : value);
        const body = JSON.parse(JSON.stringify(message), toNumber);
        return { kind: 'ok', value: toValue(has, has.endsWith('s') ? body[has] : body) };
      } catch (error) {
        const { code, grpcStatus, message } = toCallError(error as ServiceError);
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
function toValue(has: Has, body: any): Value {
  if (has === 'done') return { done: true };
  if (has === 'order') return { order: toOrder(body) };
  if (has === 'orders') return { orders: body.map(toOrder) };
  return { [has]: body } as unknown as Value;
}

/** All orders of a chaos run name a pet, and have a ship date, which is the client's number for it. */
export function toOrder({ id = 0, petId = 0, quantity = 0, complete = false, shipDate = '' }: OrderRow): Order {
  return { id, petId, quantity, complete, tag: (Date.parse(shipDate) - FIRST_MS) / 1_000 };
}

const FIRST_MS = Date.UTC(2030, 0, 1);

/** A client knows its orders without a response. */
export function tagToTime(tag: number): Date {
  return new Date(FIRST_MS + tag * 1_000);
}
