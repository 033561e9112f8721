/**
 * What the proto files say of each operation, read from their descriptors at start: nothing of it is written a
 * second time in TypeScript.
 */
import {
  createFileRegistry,
  type DescMessage,
  type DescMethod,
  type FileRegistry,
  fromBinary,
  type Message,
  type Registry,
  toBinary,
} from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { readDescriptorSet } from './descriptors.ts';
import { apiError } from './errors.ts';
import { type HttpRule, httpRule, type OperationOptions, operationOptions } from './proto-options.ts';

export interface RestRoute {
  /** The HTTP method, in upper case. */
  readonly method: string;
  /** The path with fields of the request message in braces: `/pets/{pet_id}`. */
  readonly template: string;
}

export interface Deprecation {
  readonly since: Date;
  readonly sunset: Date;
  /** The path of the successor, with fields of the request message in braces. */
  readonly successor: string;
}

export interface Operation {
  /** The gRPC path: `/petstore.v1.PetService/GetPet`. */
  readonly path: string;
  readonly input: DescMessage;
  /** Where the operation is found on the REST side; empty when it is not. */
  readonly routes: readonly RestRoute[];
  /** The field of the request message that is the REST body. */
  readonly bodyField: string | undefined;
  /** The query parameters that the operation knows. */
  readonly queryParameters: ReadonlySet<string>;
  readonly deprecation: Deprecation | undefined;
  /** Whether a call counts against the limits. */
  readonly isCounted: boolean;
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

export function loadOperations(): Operations {
  const registry = createFileRegistry(readDescriptorSet());
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
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    input: method.input,
    routes,
    bodyField: rule?.body || undefined,
    queryParameters: new Set(rule === undefined ? [] : queryParameters(method.input, rule, routes)),
    deprecation: toDeprecation(options),
    isCounted: options?.uncounted !== true,
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

/** Per google.api.http: without a body, every field that is not in the path is a query parameter. */
function queryParameters(input: DescMessage, rule: HttpRule, routes: readonly RestRoute[]): string[] {
  if (rule.body !== '') return [];
  const inPath = (name: string) => routes.some(({ template }) => template.includes(`{${name}}`));
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
