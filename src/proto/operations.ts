/**
 * What the proto files say of each operation, read from their descriptors at start: nothing of it is written a
 * second time in TypeScript.
 */
import {
  createFileRegistry,
  type DescField,
  type DescMessage,
  type DescMethod,
  type FileRegistry,
  fromBinary,
  type Message,
  type Registry,
  toBinary,
} from '@bufbuild/protobuf';
import {
  FileDescriptorProtoSchema,
  type FileDescriptorSet,
  MethodOptions_IdempotencyLevel,
} from '@bufbuild/protobuf/wkt';
import { apiError } from '../errors.ts';
import { readDescriptorSet } from './descriptors.ts';
import { type HttpRule, httpRule, type OperationOptions, operationOptions } from './options.ts';

const EMPTY = 'google.protobuf.Empty';
const HTTP_BODY = 'google.api.HttpBody';

export interface RestRoute {
  /** The HTTP method, in upper case. */
  readonly method: string;
  /** The path with fields of the request message in braces: `/pets/{pet_id}`, `/{file=docs}` for one value alone. */
  readonly template: string;
}

export interface Deprecation {
  readonly since: Date;
  readonly sunset: Date;
  /** The path of the successor, with fields of the request message in braces. */
  readonly successor: string;
}

/** A field that holds several values. */
export type ListField = DescField & { readonly fieldKind: 'list' };

/** What a REST caller gets when all is well. */
export interface SuccessResponse {
  readonly status: 200 | 201 | 204;
  /** Of what was created: its path, with fields of the response message in braces. */
  readonly location: string | undefined;
  /** The field of the response message that is the bare array; undefined when the response is one thing. */
  readonly list: ListField | undefined;
}

export interface Operation {
  /** The gRPC path: `/petstore.v1.PetService/GetPet`. */
  readonly path: string;
  readonly input: DescMessage;
  readonly output: DescMessage;
  /** Whether the response is no JSON, but bytes of any type (google.api.HttpBody). */
  readonly isRaw: boolean;
  /** Whether it changes nothing: it may be sent to a second server while the first has not answered. */
  readonly isRead: boolean;
  /** Where the operation is found on the REST side; empty when it is not. */
  readonly routes: readonly RestRoute[];
  readonly response: SuccessResponse;
  /** Whether the response is one resource, which has an entity tag (RFC 9110, section 8.8.3). */
  readonly isTagged: boolean;
  /** The header by which a caller may ask for it on a condition (RFC 9110, section 13.1). */
  readonly condition: 'if-match' | 'if-none-match' | undefined;
  /** The field of the request message that is the REST body. */
  readonly bodyField: string | undefined;
  /** The query parameters that the operation knows. */
  readonly queryParameters: ReadonlySet<string>;
  /** Whether it may be sent again under an idempotency key: where something is created, it would be there twice. */
  readonly takesIdempotencyKey: boolean;
  readonly deprecation: Deprecation | undefined;
  /** Which calls count against the limits: all, none, or those that the limits refuse. */
  readonly counting: 'always' | 'never' | 'refusals';
}

export interface Operations {
  readonly registry: FileRegistry;
  /** Every operation of the given services, by gRPC path. */
  readonly byPath: ReadonlyMap<string, Operation>;
}

/** Every proto file as a serialised FileDescriptorProto, for reflection. */
export function fileDescriptors(): Uint8Array[] {
  return readDescriptorSet().file.map((file) => toBinary(FileDescriptorProtoSchema, file));
}

/** The operations of the proto files in `gen/`, or of other ones. */
export function loadOperations(descriptors: FileDescriptorSet = readDescriptorSet()): Operations {
  const registry = createFileRegistry(descriptors);
  const byPath = new Map<string, Operation>();
  for (const file of registry.files) {
    for (const service of file.services) {
      for (const method of service.methods) {
        const operation = toOperation(method, registry);
        byPath.set(operation.path, operation);
      }
    }
  }
  return { registry, byPath };
}

/** Fills the places in braces of a path, each with the value of its field: `/pets/{id}`. */
export function fillPath(template: string, toValue: (field: string) => unknown): string {
  return template.replace(/\{(\w+)\}/g, (_, field: string) => encodeURIComponent(String(toValue(field))));
}

/** Decodes a request message by its descriptor. Throws MALFORMED_BODY when the bytes are none. */
export function decodeRequest(operation: Operation, bytes: Uint8Array): Message {
  try {
    return fromBinary(operation.input, bytes);
  } catch (error) {
    throw apiError('MALFORMED_BODY', { detail: error instanceof Error ? error.message : String(error) });
  }
}

/** What the proto files say of one method. */
export function toOperation(method: DescMethod, registry: Registry): Operation {
  const rule = httpRule(method, registry);
  const options = operationOptions(method, registry);
  const routes = rule === undefined ? [] : [rule, ...rule.additionalBindings].map(toRoute);
  const isRaw = method.output.typeName === HTTP_BODY;
  const response = toSuccessResponse(method.output, options);
  const isTagged = routes.length > 0 && !isRaw && response.status !== 204 && response.list === undefined;
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    input: method.input,
    output: method.output,
    isRaw,
    isRead: method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS,
    routes,
    response,
    isTagged,
    condition: conditionOf(routes, isTagged),
    bodyField: rule?.body || undefined,
    queryParameters: new Set(rule === undefined ? [] : queryParameters(method.input, rule, routes)),
    takesIdempotencyKey: Boolean(options?.created),
    deprecation: toDeprecation(options),
    counting: options?.uncounted ? 'never' : options?.countsRefusalsOnly ? 'refusals' : 'always',
  };
}

function toRoute({ pattern }: HttpRule): RestRoute {
  switch (pattern.case) {
    case undefined:
      throw new Error('an HTTP rule has no path');
    case 'custom':
      return { method: pattern.value.kind, template: pattern.value.path };
    default:
      return { method: pattern.case.toUpperCase(), template: pattern.value };
  }
}

/** A resource is read, or changed, on a condition. What is created has no state before that one could ask for. */
function conditionOf([route]: readonly RestRoute[], isTagged: boolean): Operation['condition'] {
  switch (route?.method) {
    case 'GET':
      return isTagged ? 'if-none-match' : undefined;
    case 'PUT':
    case 'PATCH':
    case 'DELETE':
      return 'if-match';
    default:
      return undefined;
  }
}

/** An empty message is no body; a message of a list and a page token is a page. */
function toSuccessResponse(output: DescMessage, options: OperationOptions | undefined): SuccessResponse {
  const location = options?.created || undefined;
  const isEmpty = output.typeName === EMPTY;
  return {
    status: isEmpty ? 204 : location === undefined ? 200 : 201,
    location,
    list: pageItems(output),
  };
}

function pageItems({ fields }: DescMessage): ListField | undefined {
  const [items, token] = fields;
  const isPage = fields.length === 2 && token?.name === 'next_page_token';
  return isPage && items?.fieldKind === 'list' ? items : undefined;
}

/** Per google.api.http: without a body, every field that is not in the path is a query parameter. */
function queryParameters(input: DescMessage, rule: HttpRule, routes: readonly RestRoute[]): string[] {
  if (rule.body !== '') return [];
  const inPath = (name: string) => routes.some(({ template }) => new RegExp(`{${name}[=}]`).test(template));
  return input.fields.filter(({ name }) => !inPath(name)).map(({ jsonName }) => jsonName);
}

function toDeprecation(options: OperationOptions | undefined): Deprecation | undefined {
  if (options?.deprecation === undefined) return undefined;
  const { since, sunset, successor } = options.deprecation;
  return { since: toDate(since), sunset: toDate(sunset), successor };
}

function toDate(rfc3339: string): Date {
  const date = new Date(rfc3339);
  if (Number.isNaN(date.getTime())) throw new Error(`"${rfc3339}" in the proto files is no RFC 3339 instant`);
  return date;
}
