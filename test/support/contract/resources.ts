/**
 * The public operations, and a valid request to each. What holds for all of them is tested by this table. It comes from
 * the proto files, but for what the bodies of each resource say.
 */
import { API_PACKAGE } from '../../../src/identity.ts';
import { loadOperations, type Operation } from '../../../src/platform/proto/operations.ts';
import { operationOptions } from '../../../src/platform/proto/options.ts';
import { RESOURCES, type RestMakers } from '../../shop/resources.ts';

export interface Resource {
  /** The first byte of its list's page tokens, which callers hold: never change one. A new list has the next number. */
  readonly pages?: number;
  /** The body of a valid POST. */
  readonly whole?: (rest: RestMakers) => Promise<object>;
  /** The body of a PATCH that changes what the POST has made. */
  readonly part?: object;
  /** The fields of the POST that costs most: large, or for a row that others want too. */
  readonly dearest?: (rest: RestMakers) => Promise<object>;
  /** Makes one and resolves with its id, where no POST does. */
  readonly make?: (rest: RestMakers) => Promise<number>;
}

export interface PublicOperation extends Operation {
  readonly service: string;
  /** `GetPet`. */
  readonly name: string;
  readonly method: string;
  /** Its path, as the description has it: `/pets/{petId}`. */
  readonly template: string;
  /** The parameter of the path, if there is one. */
  readonly idName: string | undefined;
  /** The code for an id that names nothing. */
  readonly notFound: string | undefined;
}

const { byPath, registry } = loadOperations();

export const PUBLIC: readonly PublicOperation[] = [...byPath.values()].flatMap((operation) => {
  const [, type = '', name = ''] = operation.path.split('/');
  if (!type.startsWith(`${API_PACKAGE}.`)) return [];
  const service = type.slice(API_PACKAGE.length + 1);
  if (!Object.hasOwn(RESOURCES, service))
    throw new Error(`add ${service} to RESOURCES of test/shop/resources.ts: its tests need bodies of valid requests`);
  const [{ method, template } = { method: '', template: '' }] = operation.routes;
  const camel = template.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  const [, idName] = /\{(\w+)\}/.exec(camel) ?? [];
  const descriptor = registry.getService(type)?.methods.find((one) => one.name === name);
  const { errors = [] } = (descriptor && operationOptions(descriptor, registry)) ?? {};
  const notFound = errors.find((code) => code.endsWith('_NOT_FOUND'));
  return [{ ...operation, service, name, method, template: camel, idName, notFound }];
});

/** The services, by full name. */
export const SERVICES = [...new Set(PUBLIC.map(({ service }) => `${API_PACKAGE}.${service}`))];

/** The operations that list a resource, page by page, each with the number of its page tokens. */
export const LISTS = PUBLIC.filter(({ queryParameters }) => queryParameters.has('pageToken')).map((list) => {
  const { pages } = RESOURCES[list.service] ?? {};
  if (pages === undefined) throw new Error(`add to ${list.service} in RESOURCES the \`pages\` of its page tokens`);
  return { ...list, pages };
});

export interface TestRequest {
  readonly operation: PublicOperation;
  readonly method: string;
  readonly path: string;
  /** The body. */
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

/** A valid request to the operation, with a resource of its own. */
export async function requestTo(rest: RestMakers, operation: PublicOperation): Promise<TestRequest> {
  const { service, method, template, idName, bodyField } = operation;
  const { whole, part = {}, make = () => create(rest, service) } = RESOURCES[service] ?? {};
  const path = idName === undefined ? template : template.replace(`{${idName}}`, String(await make(rest)));
  if (bodyField === undefined) return { operation, method, path, json: undefined };
  const json = { ...(method === 'PATCH' ? {} : await whole?.(rest)), ...(method === 'POST' ? {} : part) };
  return { operation, method, path, json };
}

async function create(rest: RestMakers, service: string): Promise<number> {
  const operation = PUBLIC.find((one) => one.service === service && one.method === 'POST');
  if (operation === undefined) throw new Error(`no POST makes what ${service} serves: add a make to RESOURCES`);
  const { path, json } = await requestTo(rest, operation);
  return (await rest.created(path, json)).id;
}
