/** The operations of the document: one for each gRPC method with an HTTP route. */
import type { DescField, DescMessage, DescMethod, Registry } from '@bufbuild/protobuf';
import {
  bodyOf,
  CONDITIONS,
  type Deprecation,
  type Operation,
  toOperation,
} from '../../src/platform/proto/operations.ts';
import { fieldOptions, operationOptions } from '../../src/platform/proto/options.ts';
import { fieldsIn, type Path, partsOfMessage } from '../../src/platform/proto/paths.ts';
import { rulesOf } from './constraints.ts';
import type { ErrorResponses } from './error-responses.ts';
import { exampleOf, exampleOfFields } from './examples.ts';
import type { JsonObject } from './json.ts';
import { commentOf, refTo } from './parts.ts';
import { successResponses, withDeprecation } from './responses.ts';
import { isRequired, type Schemas } from './schemas.ts';

interface Scope {
  readonly registry: Registry;
  readonly schemas: Schemas;
  readonly errors: ErrorResponses;
}

/** Describes a method under a tag: nothing when it has no HTTP route, else its one operation. */
export function describeOperation(method: DescMethod, tag: string, scope: Scope) {
  const operation = toOperation(method, scope.registry);
  // The other routes are HEAD, which every GET has (RFC 9110, section 9.3.2): listing them would double the page.
  const [route] = operation.routes;
  if (route === undefined) return [];
  const { deprecation, input } = operation;
  const options = operationOptions(method, scope.registry);
  const stability = scope.registry.getEnum('apiplatform.rest.v1.Stability')?.value[options?.stability ?? 0];
  const notices = deprecation === undefined ? [] : [deprecationNotice(deprecation, input)];
  const object = {
    operationId: method.localName,
    tags: [tag],
    summary: /^[^.,:;]+/.exec(commentOf(method))?.[0],
    description: [commentOf(method), ...notices].join('\n\n'),
    'x-stability': stability?.number ? stability.localName.toLowerCase() : undefined,
    deprecated: deprecation && true,
    'x-sunset': deprecation && instant(deprecation.sunset),
    'x-try-it': options?.interactiveTestingDisabled ? false : undefined,
    ...request(operation, route, scope),
    responses: responses(method, operation, options?.errors ?? [], scope),
  };
  return [{ path: toJsonNames(route.template, input), verb: route.method.toLowerCase(), object, operation }];
}

function deprecationNotice({ since, sunset, successor }: Deprecation, input: DescMessage): string {
  const dates = `since ${instant(since).slice(0, 'yyyy-mm-dd'.length)}; the sunset is ${instant(sunset)}`;
  return `**Deprecated** ${dates}. Call \`GET ${toJsonNames(successor, input)}\` instead.`;
}

/** Replaces the names of fields in a path by their JSON names: `/orders/{orderId}`. */
function toJsonNames(path: string, input: DescMessage): string {
  const parts = partsOfMessage(path, input);
  return parts.map((part) => (typeof part === 'string' ? part : `{${part.jsonName}}`)).join('');
}

function instant(at: Date): string {
  return at.toISOString().replace('.000', '');
}

function request(operation: Operation, path: Path, { schemas, registry }: Scope): JsonObject {
  const { input, queryParameters, condition, takesIdempotencyKey } = operation;
  const inPath = ({ name }: DescField) => fieldsIn(path).includes(name);
  const inQuery = ({ jsonName }: DescField) => queryParameters.has(jsonName);
  const body = bodyOf(operation);
  checkPresence(body?.fields ?? []);
  const parameters = [
    ...input.fields.filter(inPath).map((field) => pathParameter(field, schemas)),
    ...input.fields.filter(inQuery).map((field) => queryParameter(field, schemas)),
    ...(condition === undefined ? [] : [refTo('parameters', CONDITIONS[condition])]),
    ...(operation.isEventStream ? [refTo('parameters', 'Last-Event-ID')] : []),
    ...(takesIdempotencyKey ? [refTo('parameters', 'Idempotency-Key')] : []),
  ];
  return {
    parameters: parameters.length > 0 ? parameters : undefined,
    requestBody: body && {
      description: commentOf(body.message),
      required: body.fields.some(isRequired),
      content: {
        'application/json': {
          schema: schemas.message(body.message, body.fields),
          example: requestExample(body.fields, registry),
        },
      },
    },
  };
}

/** @throws Error for a message that the document would require of callers, though the server does not. */
export function checkPresence(fields: readonly DescField[], within: readonly DescMessage[] = []): void {
  for (const field of fields.filter(({ message }) => message !== undefined && !within.includes(message))) {
    if (isRequired(field) && rulesOf(field).required !== true)
      throw new Error(
        `${field}: it needs \`optional\`, or the rule \`required\`: nothing tells whether it may be absent`,
      );
    if (field.message !== undefined) checkPresence(field.message.fields, [...within, field.message]);
  }
}

function pathParameter(field: DescField, schemas: Schemas): JsonObject {
  const { description, examples, ...schema } = schemas.field(field);
  return { name: field.jsonName, in: 'path', required: true, description, schema, example: exampleOf(field) };
}

/**
 * The example of a query parameter or header is in the `examples` of its schema, not in `example`: request generators
 * find it there, but forms such as the docs page's, which start with `example`, stay empty. Otherwise every list that
 * somebody tries would be filtered, and every request would have the same idempotency key.
 */
function queryParameter(field: DescField, schemas: Schemas): JsonObject {
  const { description, ...schema } = schemas.field(field);
  return { name: field.jsonName, in: 'query', description, schema };
}

function requestExample(fields: readonly DescField[], registry: Registry): JsonObject {
  return exampleOfFields(fields.filter((field) => fieldOptions(field, registry)?.outputOnly !== true));
}

function responses(
  method: DescMethod,
  operation: Operation,
  ownErrors: readonly string[],
  { registry, schemas, errors }: Scope,
): JsonObject {
  const byKey = operation.takesIdempotencyKey ? ['IDEMPOTENCY_KEY_REUSED'] : [];
  const ofCondition = operation.condition === 'if-match' ? ['PRECONDITION_FAILED'] : [];
  const required = bodyOf(operation)?.fields.filter(isRequired) ?? [];
  const own: Record<string, JsonObject> = {
    ...successResponses(method, operation, exampleOfResponse(operation, registry), schemas),
    ...errors.ofOperation(
      [...ownErrors, ...byKey, ...ofCondition],
      required.map(({ jsonName }) => jsonName),
    ),
  };
  for (const [status, response] of Object.entries(own)) {
    if (operation.deprecation !== undefined && status !== '400') own[status] = withDeprecation(response);
  }
  return { ...errors.common, ...(operation.isRead ? {} : errors.ofWrites), ...own };
}

/** The example of the resource as the example of the request leaves it, in fields of the same name and type. */
function exampleOfResponse(operation: Operation, registry: Registry): JsonObject {
  const { fields: shown } = operation.output;
  const isShown = (field: DescField) =>
    shown.some(
      ({ name, message, scalar }) => name === field.name && message === field.message && scalar === field.scalar,
    );
  const sent = bodyOf(operation)?.fields.filter(isShown) ?? [];
  return { ...exampleOfFields(shown), ...requestExample(sent, registry) };
}
