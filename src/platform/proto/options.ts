/** The options of our proto files, read from descriptors. No code is generated for them. */
import {
  createRegistry,
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
    | { readonly case: undefined; readonly value?: undefined };
  readonly body: string;
  readonly responseBody: string;
  readonly additionalBindings: readonly HttpRule[];
};

/** apiplatform.rest.v1.OperationOptions. */
export type OperationOptions = Message & {
  readonly stability: number;
  readonly deprecation?: { readonly since: string; readonly sunset: string; readonly successor: string };
  readonly interactiveTestingDisabled: boolean;
  readonly uncounted: boolean;
  readonly countsRefusalsOnly: boolean;
  readonly created: string;
  readonly idList: string;
  readonly errors: readonly string[];
};

/** apiplatform.rest.v1.ServiceOptions. */
type ServiceOptions = Message & { readonly tag: string; readonly position: number; readonly owned: boolean };

/** apiplatform.rest.v1.FieldOptions. */
type FieldOptions = Message & { readonly default: string; readonly outputOnly: boolean };

export const httpRule = option<DescMethod, HttpRule>('google.api.http');
export const operationOptions = option<DescMethod, OperationOptions>('apiplatform.rest.v1.operation');
export const serviceOptions = option<DescService, ServiceOptions>('apiplatform.rest.v1.service');
const OF_FIELD = 'apiplatform.rest.v1.field';
export const fieldOptions = option<DescField, FieldOptions>(OF_FIELD);

/** Whether the server alone sets a field. Who has no registry finds the option in what the field's file imports. */
export function isOutputOnly(field: DescField): boolean {
  const imported = createRegistry(...field.parent.file.dependencies);
  return imported.getExtension(OF_FIELD) !== undefined && fieldOptions(field, imported)?.outputOnly === true;
}

/** Returns a function that reads an option of a descriptor; it returns undefined where the option is not set. */
function option<D extends DescMethod | DescService | DescField, T>(name: string) {
  return ({ proto: { options } }: D, registry: Registry): T | undefined => {
    const extension = registry.getExtension(name);
    if (extension === undefined) throw new Error(`the proto files do not define the option ${name}`);
    const isSet = options !== undefined && hasExtension(options, extension);
    return isSet ? (getExtension(options, extension) as T) : undefined;
  };
}
