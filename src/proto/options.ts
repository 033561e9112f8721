/**
 * The options of our proto files, read from descriptors. No code is generated for them: the server (from its descriptor
 * set) and the OpenAPI plugin (from buf) both have the descriptors.
 */
import {
  type DescField,
  type DescMethod,
  type DescService,
  getExtension,
  hasExtension,
  type Message,
  type Registry,
} from '@bufbuild/protobuf';

/** google.api.HttpRule, with the fields that are used here. */
export type HttpRule = Message & {
  readonly pattern:
    | { readonly case: 'get' | 'put' | 'post' | 'delete' | 'patch'; readonly value: string }
    | { readonly case: 'custom'; readonly value: { readonly kind: string; readonly path: string } }
    | { readonly case: undefined };
  readonly body: string;
  readonly additionalBindings: readonly HttpRule[];
};

/** petstore.rest.v1.OperationOptions. */
export type OperationOptions = Message & {
  readonly stability: number;
  readonly deprecation?: { readonly since: string; readonly sunset: string; readonly successor: string };
  readonly interactiveTestingDisabled: boolean;
  readonly uncounted: boolean;
  readonly countsRefusalsOnly: boolean;
  readonly created: string;
  readonly errors: readonly string[];
};

/** petstore.rest.v1.ServiceOptions. */
type ServiceOptions = Message & { readonly tag: string; readonly position: number };

/** petstore.rest.v1.FieldOptions. */
type FieldOptions = Message & { readonly default: string; readonly outputOnly: boolean };

export function httpRule(method: DescMethod, registry: Registry): HttpRule | undefined {
  return read(method, 'google.api.http', registry) as HttpRule | undefined;
}

export function operationOptions(method: DescMethod, registry: Registry): OperationOptions | undefined {
  return read(method, 'petstore.rest.v1.operation', registry) as OperationOptions | undefined;
}

export function serviceOptions(service: DescService, registry: Registry): ServiceOptions | undefined {
  return read(service, 'petstore.rest.v1.service', registry) as ServiceOptions | undefined;
}

export function fieldOptions(field: DescField, registry: Registry): FieldOptions | undefined {
  return read(field, 'petstore.rest.v1.field', registry) as FieldOptions | undefined;
}

function read(desc: DescMethod | DescService | DescField, name: string, registry: Registry): unknown {
  const extension = registry.getExtension(name);
  if (extension === undefined) throw new Error(`the proto files do not define the option ${name}`);
  const { options } = desc.proto;
  return options !== undefined && hasExtension(options, extension) ? getExtension(options, extension) : undefined;
}
