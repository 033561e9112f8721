/** The operations of the document: one for each gRPC method with an HTTP route. */
import type { DescField, DescMethod, Registry } from '@bufbuild/protobuf';
import { type Operation, toOperation } from '../proto/operations.ts';
import { operationOptions } from '../proto/options.ts';
import { commentOf, toWords } from './comments.ts';
import type { ErrorResponses } from './error-responses.ts';
import type { JsonObject } from './json.ts';
import {
  conditionParameter,
  idempotencyKeyParameter,
  pathParameter,
  queryParameter,
  requestBody,
  requestExample,
} from './requests.ts';
import { successResponses, withDeprecation } from './responses.ts';
import type { Schemas } from './schemas.ts';
import { deprecationNotice, stabilityNotice, toJsonNames } from './stability.ts';

export interface DescribedOperation {
  /** The path with the JSON names of its parameters: `/pets/{petId}`. */
  readonly path: string;
  /** The HTTP method in lower case, as the document has it. */
  readonly method: string;
  readonly object: JsonObject;
}

interface Scope {
  readonly registry: Registry;
  readonly schemas: Schemas;
  readonly errors: ErrorResponses;
}

/** Describes a method under a tag; undefined when it has no HTTP route. */
export function describeOperation(method: DescMethod, tag: string, scope: Scope): DescribedOperation | undefined {
  const operation = toOperation(method, scope.registry);
  // The other routes are HEAD, which every GET has (RFC 9110, section 9.3.2): listing them would double the page.
  const [route] = operation.routes;
  if (route === undefined) return undefined;
  const options = operationOptions(method, scope.registry);
  const notices = [
    stabilityNotice(options?.stability ?? 0, scope.registry),
    operation.deprecation && deprecationNotice(operation.deprecation, method.input),
  ].filter((notice) => notice !== undefined);
  const object = {
    operationId: method.localName,
    tags: [tag],
    summary: toWords(method.name),
    description: [commentOf(method), ...notices.map(({ text }) => text)].join('\n\n'),
    ...Object.assign({}, ...notices.map(({ members }) => members)),
    'x-try-it': options?.interactiveTestingDisabled ? false : undefined,
    ...request(operation, route.template, scope),
    responses: responses(method, operation, options?.errors ?? [], scope),
  };
  return { path: toJsonNames(route.template, method.input), method: route.method.toLowerCase(), object };
}

function request(operation: Operation, template: string, { schemas, registry }: Scope): JsonObject {
  const { fields } = operation.input;
  const inPath = (field: DescField) => template.includes(`{${field.name}}`);
  const inQuery = (field: DescField) => operation.queryParameters.has(field.jsonName);
  const body = bodyOf(operation);
  const parameters = [
    ...fields.filter(inPath).map((field) => pathParameter(field, schemas)),
    ...fields.filter(inQuery).map((field) => queryParameter(field, schemas)),
    ...(operation.condition === undefined ? [] : [conditionParameter(operation.condition)]),
    ...(operation.takesIdempotencyKey ? [idempotencyKeyParameter()] : []),
  ];
  return {
    parameters: parameters.length > 0 ? parameters : undefined,
    requestBody: body && requestBody(body, schemas, registry),
  };
}

function responses(
  method: DescMethod,
  operation: Operation,
  ownErrors: readonly string[],
  { registry, schemas, errors }: Scope,
): JsonObject {
  const body = bodyOf(operation);
  const byKey = operation.takesIdempotencyKey ? ['IDEMPOTENCY_KEY_REUSED'] : [];
  const sent = body === undefined ? {} : requestExample(body, registry);
  const ofCondition = operation.condition === 'if-match' ? ['PRECONDITION_FAILED'] : [];
  const own = {
    ...successResponses({ method, operation, sent }, schemas),
    ...errors.ofOperation({ hasBody: body !== undefined, ownErrors: [...ownErrors, ...byKey, ...ofCondition] }),
  };
  const isAnnounced = (status: string) => operation.deprecation !== undefined && status !== '400';
  const announced = Object.entries(own).map(([status, response]) => [
    status,
    isAnnounced(status) ? withDeprecation(response) : response,
  ]);
  return { ...Object.fromEntries(announced), ...errors.common };
}

function bodyOf({ input, bodyField }: Operation) {
  return input.fields.find(({ name }) => name === bodyField)?.message;
}
