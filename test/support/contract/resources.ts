/**
 * The public operations, and a valid request to each. What holds for all of them is tested by this table. It comes from
 * the proto files, but for what the bodies of each resource say.
 */
import { type DescMessage, fromBinary, fromJson, type JsonObject, toBinary, toJson } from '@bufbuild/protobuf';
import { API_PACKAGE } from '../../../src/identity.ts';
import { wrappedList } from '../../../src/platform/proto/fields.ts';
import { loadOperations, type Operation } from '../../../src/platform/proto/operations.ts';
import { operationOptions } from '../../../src/platform/proto/options.ts';
import { RESOURCES, type RestMakers } from '../../shop/resources.ts';

/** The body of a valid request. `ids` are the parameters of its path, or of the list that it makes a row of. */
type Body = (rest: RestMakers, ids: Ids) => Promise<object>;
export type Ids = Readonly<Record<string, string>>;

/** A list in another order than by the first field of its rows, ascending. */
interface Ordered {
  readonly pages: number;
  readonly by: string;
  readonly isDescending: boolean;
  readonly range?: { readonly from: string; readonly to: string };
}

export interface Resource {
  /**
   * The first byte of its list's page tokens, which callers hold: never change one. A new list has the next number. Of
   * several lists, or in another order, by method.
   */
  readonly pages?: number | Readonly<Record<string, number | Ordered>>;
  /** The body of a valid POST that creates one. */
  readonly whole?: Body;
  /** The body of a PATCH that changes what the POST has made. */
  readonly part?: object;
  /** The bodies of other methods, by name. */
  readonly bodies?: Readonly<Record<string, Body>>;
  /** The fields of the POST that costs most: large, or for a row that others want too. */
  readonly dearest?: (rest: RestMakers) => Promise<object>;
  /** Makes one and resolves with its id, where no POST does. */
  readonly make?: (rest: RestMakers) => Promise<number | string>;
}

const { byPath, registry } = loadOperations();

export type PublicOperation = (typeof PUBLIC)[number];

export const PUBLIC = [...byPath.values()].flatMap((operation) => {
  const [, type = '', name = ''] = operation.path.split('/');
  if (!type.startsWith(`${API_PACKAGE}.`)) return [];
  const service = type.slice(API_PACKAGE.length + 1);
  if (!Object.hasOwn(RESOURCES, service))
    throw new Error(`add ${service} to RESOURCES of test/shop/resources.ts: its tests need bodies of valid requests`);
  const [{ method, template } = { method: '', template: '' }] = operation.routes;
  const camel = toCamel(template); // as the description has it: `/pets/{petId}`
  const resource = camel.slice(0, camel.lastIndexOf('}') + 1); // that which it is about: without a verb
  const idName = /\{(\w+)\}$/.exec(resource)?.[1];
  const descriptor = registry.getService(type)?.methods.find((one) => one.name === name);
  const { errors = [] } = (descriptor && operationOptions(descriptor, registry)) ?? {};
  const notFound = errors.find((code) => code.endsWith('_NOT_FOUND'));
  return [{ ...operation, service, name, method, template: camel, idName, resource, notFound }];
});

function toCamel(template: string): string {
  return template.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

export function fill(template: string, ids: object): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(Reflect.get(ids, name))));
}

export const MAKERS = PUBLIC.flatMap((operation) => {
  const { location } = operation.response;
  return location === undefined ? [] : [{ ...operation, location: toCamel(location) }];
});

/** The operation with this method on the same resource, if there is one. */
export function sibling({ resource }: Pick<PublicOperation, 'resource'>, method: string) {
  return PUBLIC.find((one) => one.method === method && isLike(one.template, resource));
}

export const makerOf = ({ resource }: PublicOperation) => MAKERS.find(({ location }) => isLike(location, resource));

function isLike(one: string, other: string): boolean {
  return one.replace(/\{\w+\}/g, '{}') === other.replace(/\{\w+\}/g, '{}');
}

export const SERVICES = [...new Set(PUBLIC.map(({ service }) => `${API_PACKAGE}.${service}`))];

/** The operations that list a resource, page by page, each with the number of its page tokens, and its order. */
export const LISTS = PUBLIC.filter(({ queryParameters }) => queryParameters.has('pageToken')).map((list) => {
  const { pages } = RESOURCES[list.service] ?? {};
  const own = typeof pages === 'object' ? pages[list.name] : pages;
  if (own === undefined) throw new Error(`add to ${list.service} in RESOURCES the \`pages\` of ${list.name}`);
  const byId = { by: list.response.list?.message?.fields[0]?.jsonName ?? '', isDescending: false, range: undefined };
  return { ...list, ...byId, ...(typeof own === 'number' ? { pages: own } : own) };
});

export const EVENT_STREAM = PUBLIC.find(({ isEventStream }) => isEventStream);
export const EVENTS = PUBLIC.find(({ service, isStream }) => service === EVENT_STREAM?.service && !isStream);

/** An operation over gRPC: its request is what REST has in path, query and body, its response is JSON. */
export function overGrpc({ path, input, output, bodyField }: Operation, fields: object, json: object = {}) {
  const body = bodyField === undefined || bodyField === '*' ? json : { [bodyField]: json };
  const bytes = Buffer.from(toBinary(input, fromJson(input, withWrappedLists(input, { ...body, ...fields }))));
  const responseDeserialize = (response: Buffer) =>
    toJson(output, fromBinary(output, response), { alwaysEmitImplicit: true }) as Readonly<Record<string, unknown>>;
  return { path, requestSerialize: () => bytes, responseDeserialize };
}

/** The JSON of REST as that of protobuf, in which a list that may be absent is in a message of its own. */
function withWrappedLists({ fields }: DescMessage, json: object): JsonObject {
  const entries = Object.entries(json).map(([name, value]) => {
    const field = fields.find(({ jsonName }) => jsonName === name);
    const list = field && wrappedList(field);
    if (list !== undefined && Array.isArray(value)) return [name, { [list.jsonName]: value }];
    const isObject = field?.fieldKind === 'message' && typeof value === 'object' && value !== null;
    return [name, isObject && !Array.isArray(value) ? withWrappedLists(field.message, value) : value];
  });
  return Object.fromEntries(entries);
}

export interface TestRequest {
  readonly operation: PublicOperation;
  readonly method: string;
  readonly path: string;
  readonly ids: Ids;
  readonly json: object | undefined;
}

/** A valid request to each operation for which `holds`, but not to streams. Each has a resource of its own. */
export async function requestsTo(
  rest: RestMakers,
  holds: (operation: PublicOperation) => boolean = () => true,
): Promise<TestRequest[]> {
  const chosen = PUBLIC.filter((operation) => !operation.isStream && holds(operation));
  return Promise.all(chosen.map((operation) => requestTo(rest, operation)));
}

/** A valid request to the operation, with a resource of its own, or the one that is given. */
export async function requestTo(rest: RestMakers, operation: PublicOperation, given?: Ids): Promise<TestRequest> {
  const { method, template } = operation;
  const ids = given ?? (await makeFor(rest, operation));
  return { operation, method, path: fill(template, ids), ids, json: await bodyTo(rest, operation, ids) };
}

/** A valid request that makes a row of a list, which is in what `ids` name; undefined if nothing makes one. */
export async function requestInto(rest: RestMakers, list: PublicOperation, ids: Ids): Promise<TestRequest | undefined> {
  const maker = MAKERS.find(({ output }) => output.typeName === list.response.list?.message?.typeName);
  const fits = maker?.template.matchAll(/\{(\w+)\}/g).every(([, name = '']) => name in ids);
  return maker && requestTo(rest, maker, fits ? ids : undefined);
}

async function bodyTo(rest: RestMakers, operation: PublicOperation, ids: Ids): Promise<object | undefined> {
  const { service, name, method, bodyField, response } = operation;
  const { whole, part, bodies = {} } = RESOURCES[service] ?? {};
  const own = bodies[name];
  if (own !== undefined) return own(rest, ids);
  if (bodyField === undefined) return undefined;
  if (method === 'PATCH') return part;
  if (response.location === undefined && method !== 'PUT') {
    throw new Error(`add ${name} to the \`bodies\` of ${service} in RESOURCES of test/shop/resources.ts`);
  }
  return { ...(await whole?.(rest, ids)), ...(method === 'PUT' ? part : {}) };
}

/** Makes the resource that the operation's path names, and what that is in. Resolves with the parameters. */
async function makeFor(rest: RestMakers, operation: PublicOperation): Promise<Ids> {
  const { service, resource, idName } = operation;
  if (idName === undefined) return {};
  const maker = makerOf(operation);
  if (maker === undefined) {
    const { make } = RESOURCES[service] ?? {};
    if (make === undefined) throw new Error(`no POST makes a ${resource}: add a make to ${service} in RESOURCES`);
    return { [idName]: String(await make(rest)) };
  }
  const { path, json, ids } = await requestTo(rest, maker);
  const made = fill(maker.location, { ...ids, ...(await rest.created(path, json)) });
  const pattern = new RegExp(`^${resource.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);
  const values = Object.entries(pattern.exec(made)?.groups ?? {});
  return Object.fromEntries(values.map(([name, value]) => [name, decodeURIComponent(value)]));
}
