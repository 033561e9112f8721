/**
 * The operations of the service with everything that the proto files define for them, read from the descriptor set of
 * all proto files, as `buf build` makes it. The set of Envoy's transcoder is made from the routes here.
 */
import { readFileSync } from 'node:fs';
import {
  createFileRegistry,
  type DescField,
  type DescMessage,
  type DescMethod,
  type FileRegistry,
  fromBinary,
  type Registry,
} from '@bufbuild/protobuf';
import {
  EmptySchema,
  type FileDescriptorSet,
  FileDescriptorSetSchema,
  MethodOptions_IdempotencyLevel,
} from '@bufbuild/protobuf/wkt';
import { API_PACKAGE, NAME } from '../../identity.ts';
import type { ListField } from './fields.ts';
import { checkForms } from './http-forms.ts';
import { type HttpRule, httpRule, type OperationOptions, operationOptions, serviceOptions } from './options.ts';
import { compilePath, fieldsIn, hasVerb, type Path, readPath, shapeOf, toRegExp } from './paths.ts';

const DESCRIPTOR_SET = new URL('../../../gen/descriptors.binpb', import.meta.url);
const HTTP_BODY = 'google.api.HttpBody';

/** The gRPC paths of public methods begin with this, and no others. */
export const API_PREFIX = `/${API_PACKAGE}.`;

export interface RestRoute extends Path {
  /** The HTTP method, in upper case; `*` for all. */
  readonly method: string;
  /** Matches its paths. A group for each field. */
  readonly pattern: RegExp;
}

export interface Deprecation {
  readonly since: Date;
  readonly sunset: Date;
  /** The path of the successor, with fields of the request message in braces. */
  readonly successor: string;
  /** That path for a request message. */
  readonly successorOf: (request: unknown) => string;
  /** `Deprecation` (RFC 9745) and `Sunset` (RFC 8594). */
  readonly headers: Readonly<Record<'deprecation' | 'sunset', string>>;
}

export interface SuccessResponse {
  readonly status: 200 | 201 | 204;
  /** The path of the created resource, with fields of the response message in braces, if it creates one. */
  readonly location?: string | undefined;
  /** The field of the response message that is written as a bare array; undefined unless the response is a list. */
  readonly list?: ListField | undefined;
  /** Where the next page of a list begins: in the response message, and the query parameter that goes there. */
  readonly next?: { readonly field: DescField; readonly parameter: string } | undefined;
}

/** The conditional headers, as they are looked up, with their spelling for people. */
export const CONDITIONS = { 'if-match': 'If-Match', 'if-none-match': 'If-None-Match' } as const;

export interface Operation {
  /** The gRPC path: `/package.Service/Method`. */
  readonly path: string;
  /** True when callers may call it by this path. What the platform has on REST, such as /healthz, has no other way. */
  readonly isPublic: boolean;
  readonly input: DescMessage;
  readonly output: DescMessage;
  readonly isStream: boolean;
  /** True for a stream of messages that has a path: over REST it is server-sent events, without an end of its own. */
  readonly isEventStream: boolean;
  /** True when the response is bytes of any content type (google.api.HttpBody) instead of JSON. */
  readonly isRaw: boolean;
  /** True when what it serves belongs to accounts (tables/owned.ts). */
  readonly isOwned: boolean;
  /** True when it changes nothing. Envoy may send it to a second server before the first has responded. */
  readonly isRead: boolean;
  /** True when it changes nothing more if it is carried out again. */
  readonly isIdempotent: boolean;
  /** The routes on the REST side; empty for an operation of gRPC alone. */
  readonly routes: readonly RestRoute[];
  readonly response: SuccessResponse;
  /** True when the response is one resource, which has an entity tag (RFC 9110, section 8.8.3). */
  readonly isTagged: boolean;
  /** The field with ids of a list that is tagged like the resource when it has exactly one. */
  readonly idList?: ListField | undefined;
  /** The conditional header that it supports (RFC 9110, section 13.1). */
  readonly condition?: 'if-match' | 'if-none-match' | undefined;
  /** The field of the request message that is the REST body; `*` for all that are not in the path. */
  readonly bodyField?: string | undefined;
  /** The fields that are its query parameters, by name. */
  readonly queryParameters: ReadonlyMap<string, DescField>;
  /** True when it supports Idempotency-Key: a POST that is not idempotent by itself. */
  readonly takesIdempotencyKey: boolean;
  readonly deprecation?: Deprecation | undefined;
  /** Which calls count against the limits: all, none, or only those beyond the limit. */
  readonly counting: 'always' | 'never' | 'refusals';
}

export interface Operations {
  readonly registry: FileRegistry;
  /** Every operation, by gRPC path. */
  readonly byPath: ReadonlyMap<string, Operation>;
}

/** Loads the operations. @throws Error when Envoy would send what is on REST nowhere, or to two methods. */
export function loadOperations(
  descriptors: FileDescriptorSet = fromBinary(FileDescriptorSetSchema, readFileSync(DESCRIPTOR_SET)),
): Operations {
  const registry = createFileRegistry(descriptors);
  const verbs = verbsOf(registry);
  const services = [...registry.files].flatMap((file) => file.services);
  const operations = services.flatMap(({ methods }) => methods.map((method) => toOperation(method, registry, verbs)));
  const isAstray = ({ path, isPublic, routes }: Operation) =>
    routes.length > 0 && !isPublic && !path.startsWith('/apiplatform.');
  const astray = operations.find(isAstray);
  if (astray !== undefined) {
    throw new Error(`${astray.path} has a path on REST: move it to ${API_PACKAGE}, the API_PACKAGE of src/identity.ts`);
  }
  const routed = operations.flatMap(({ path, routes }) => routes.map((route) => ({ path, route })));
  const byPlace = Map.groupBy(routed, ({ route }) => `${route.method} ${shapeOf(route)}`);
  for (const [at, [one, other]] of byPlace) {
    if (other !== undefined) throw new Error(`${one?.path} and ${other.path} are both at ${at} on REST: move one`);
  }
  return { registry, byPath: new Map(operations.map((operation) => [operation.path, operation])) };
}

/** Reads one method from its descriptor. `verbs` are those of all paths. */
export function toOperation(method: DescMethod, registry: Registry, verbs = verbsOf(registry)): Operation {
  const { parent, input, output, idempotency, methodKind } = method;
  const [rule, options] = [httpRule(method, registry), operationOptions(method, registry)];
  const base = { path: `/${parent.typeName}/${method.name}`, input, output };
  const bindings = bindingsOf(rule);
  const [path] = bindings;
  const bodyField = rule?.body || undefined;
  const isInQuery = ({ name }: DescField) => name !== bodyField && !isInPath(name, bindings);
  const inQuery = rule === undefined || bodyField === '*' ? [] : input.fields.filter(isInQuery);
  const isRaw = output.typeName === HTTP_BODY;
  if (rule !== undefined && path !== undefined) {
    const inBody = bodyOf({ input, bodyField, routes: bindings })?.fields ?? [];
    checkForms({ rule, path, method, isRaw, inBody, inQuery });
  }
  const routes = toRoutes(bindings, verbs);
  const [route] = routes;
  const isStream = methodKind === 'server_streaming' || methodKind === 'bidi_streaming';
  const isRead = idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  const isIdempotent = idempotency !== MethodOptions_IdempotencyLevel.IDEMPOTENCY_UNKNOWN;
  const response = toSuccessResponse(base, route !== undefined, options?.created || undefined);
  const isOneMessage = !isRaw && !isStream && response.status !== 204 && response.list === undefined;
  const isTagged = route !== undefined && isOneMessage;
  const idList = options?.idList ? idListOf(base, response, options.idList) : undefined;
  return {
    ...base,
    isPublic: base.path.startsWith(API_PREFIX),
    isStream,
    isEventStream: isStream && !isRaw && route !== undefined,
    isRaw,
    isOwned: serviceOptions(parent, registry)?.owned === true,
    isRead,
    isIdempotent,
    routes,
    response,
    isTagged,
    idList,
    condition: conditionOf(route, isRead, isTagged || idList !== undefined),
    bodyField,
    queryParameters: new Map(inQuery.map((field) => [field.jsonName, field])),
    takesIdempotencyKey: route?.method === 'POST' && !isIdempotent,
    deprecation: options?.deprecation && toDeprecation(options.deprecation, input),
    counting: options?.uncounted ? 'never' : options?.countsRefusalsOnly ? 'refusals' : 'always',
  };
}

/** The verbs of all paths: of `/things/{id}:close` it is `close`. */
export function verbsOf(registry: Registry): readonly string[] {
  const methods = [...registry].flatMap((type) => (type.kind === 'service' ? type.methods : []));
  const bindings = methods.flatMap((method) => bindingsOf(httpRule(method, registry)));
  return [...new Set(bindings.flatMap(({ verb }) => verb ?? []))];
}

/** Stands for all methods that do not exist. */
export const UNKNOWN: Operation = {
  path: '/unknown',
  isPublic: false,
  input: EmptySchema,
  output: EmptySchema,
  isStream: false,
  isEventStream: false,
  isRaw: false,
  isOwned: false,
  isRead: false,
  isIdempotent: false,
  routes: [],
  response: { status: 204 },
  isTagged: false,
  queryParameters: new Map(),
  takesIdempotencyKey: false,
  counting: 'always',
};

type Binding = Omit<RestRoute, 'pattern'>;

/** In a path `NAME.` is the service's name. */
function bindingsOf(rule: HttpRule | undefined): readonly Binding[] {
  const rules = rule === undefined ? [] : [rule, ...rule.additionalBindings];
  return rules.map(({ pattern }) => {
    const [method, path = ''] =
      pattern.case === 'custom'
        ? [pattern.value.kind, pattern.value.path]
        : [String(pattern.case).toUpperCase(), pattern.value];
    return { ...readPath(path.replace('{file=NAME.', `{file=${NAME}.`)), method };
  });
}

/** Those of the bindings, and one for HEAD with each GET (RFC 9110, section 9.3.2). */
function toRoutes(bindings: readonly Binding[], verbs: readonly string[]): readonly RestRoute[] {
  const routes = bindings.map((binding) => ({ ...binding, pattern: toRegExp(binding, verbs) }));
  return [...routes, ...routes.filter(({ method }) => method === 'GET').map((route) => ({ ...route, method: 'HEAD' }))];
}

/** Resources are read with If-None-Match and changed with If-Match. What is yet to be created has no tag. */
function conditionOf(route: RestRoute | undefined, isRead: boolean, isTagged: boolean): Operation['condition'] {
  if (route?.method === 'GET') return isTagged ? 'if-none-match' : undefined;
  const changes = route !== undefined && (['PUT', 'PATCH', 'DELETE'].includes(route.method) || hasVerb(route));
  return changes && !isRead ? 'if-match' : undefined;
}

type Base = Pick<Operation, 'path' | 'input' | 'output'>;

/** An empty message means no body; one with `next_page_token`, or the like, is a page of its list. */
function toSuccessResponse(
  { path, input, output }: Base,
  isOnRest: boolean,
  location: string | undefined,
): SuccessResponse {
  const [next] = output.fields.flatMap((field) => {
    const parameter = input.fields.find(({ name }) => field.name === `next_${name}`)?.jsonName;
    return parameter === undefined ? [] : [{ field, parameter }];
  });
  const [list, ...others] = output.fields.filter((field) => field !== next?.field);
  if (next !== undefined && isOnRest && (list?.fieldKind !== 'list' || others.length > 0)) {
    const why = 'REST has a page as a bare array, which has no place for other fields';
    throw new Error(
      `${path}: ${output.typeName} must have one list beside ${next.field.name}, and nothing else: ${why}`,
    );
  }
  return {
    status: output.typeName === EmptySchema.typeName ? 204 : location === undefined ? 200 : 201,
    location,
    list: next !== undefined && list?.fieldKind === 'list' ? list : undefined,
    next,
  };
}

function idListOf({ path, input }: Base, { list }: SuccessResponse, name: string): ListField {
  const field = input.fields.find((one) => one.name === name);
  if (field?.fieldKind === 'list' && list?.message !== undefined) return field;
  throw new Error(
    `${path}: id_list must name a list of ${input.typeName}, and the response must be a list of messages`,
  );
}

/** The message that is the REST body, and its fields: those of `*` are all that are not in the path. */
export function bodyOf({
  input,
  bodyField,
  routes,
}: Pick<Operation, 'input' | 'bodyField'> & { readonly routes: readonly Path[] }) {
  if (bodyField !== '*') {
    const message = input.fields.find(({ name }) => name === bodyField)?.message;
    return message && { message, fields: message.fields };
  }
  return { message: input, fields: input.fields.filter(({ name }) => !isInPath(name, routes)) };
}

function isInPath(name: string, routes: readonly Path[]): boolean {
  return routes.some((route) => fieldsIn(route).includes(name));
}

function toDeprecation(options: NonNullable<OperationOptions['deprecation']>, input: DescMessage): Deprecation {
  const { successor } = options;
  const [since, sunset] = [toDate(options.since), toDate(options.sunset)];
  const headers = { deprecation: `@${Math.floor(since.getTime() / 1_000)}`, sunset: sunset.toUTCString() };
  return { since, sunset, successor, successorOf: compilePath(successor, input), headers };
}

function toDate(rfc3339: string): Date {
  const date = new Date(rfc3339);
  if (Number.isNaN(date.getTime())) throw new Error(`"${rfc3339}" in the proto files is not an RFC 3339 instant`);
  return date;
}
