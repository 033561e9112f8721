/** The responses of success. */
import type { DescMessage, DescMethod } from '@bufbuild/protobuf';
import type { Operation } from '../../src/platform/proto/operations.ts';
import { exampleOfMessage } from './examples.ts';
import type { JsonObject } from './json.ts';
import { BASE, commentOf, headers, refTo } from './parts.ts';
import type { Schemas } from './schemas.ts';

/** The response of success, and the 304 where there can be one, by HTTP status. `example` is that of a resource. */
export function successResponses(
  method: DescMethod,
  operation: Operation,
  example: JsonObject,
  schemas: Schemas,
): Record<string, JsonObject> {
  const { output } = method;
  const { status, list, location } = operation.response;
  if (status === 204) return { 204: { description: 'Done. There is no body.', headers: headers() } };
  const unmodified = operation.condition === 'if-none-match' ? NOT_MODIFIED : {};
  if (list?.message !== undefined) return { [status]: page(method, operation, list.message, schemas), ...unmodified };
  if (operation.isEventStream) return { [status]: eventStream(output, schemas) };
  const response = {
    description: commentOf(output),
    headers: location === undefined ? headers('ETag') : headers('Location', 'ETag', 'Idempotency-Replayed'),
    content: { 'application/json': { schema: schemas.message(output), example } },
  };
  return { [status]: response, ...unmodified };
}

const NOT_MODIFIED = {
  304: {
    description: 'The resource still has an `ETag` that `If-None-Match` names. There is no body.',
    headers: headers('ETag'),
  },
};

/**
 * Server-sent events (HTML Standard, section 9.2). The schema is that of the data of each: clients that check responses
 * check these. In OpenAPI 3.2 it would be an `itemSchema`, of an object with `id`, `event` and `data`, and the data a
 * string with this as its `contentSchema`.
 */
function eventStream(output: DescMessage, schemas: Schemas): JsonObject {
  const event = output.fields.find(({ name }) => name === 'event')?.message;
  if (event === undefined) throw new Error(`${output.typeName} has no event`);
  const description = `Server-sent events. The data of each is one ${event.name} as JSON; that of \`ready\` is \`{}\`.`;
  const ready = { type: 'object', description: 'The data of `ready`.', maxProperties: 0 };
  const schema = { anyOf: [schemas.message(event), ready] };
  return {
    description: `${description} A comment comes every 15 s while nothing happens.`,
    headers: headers(),
    content: { 'text/event-stream': { schema, example: exampleOfMessage(event) } },
  };
}

const ETAG_OF_ONE = { ...BASE.components.headers.ETag, required: false };

function page({ name, output }: DescMethod, { idList }: Operation, items: DescMessage, schemas: Schemas): JsonObject {
  const description = commentOf(output);
  return {
    description,
    headers: { ...headers(), ...(idList && { ETag: ETAG_OF_ONE }), Link: refTo('headers', 'Link-Next') },
    content: {
      'application/json': {
        schema: schemas.list(name.replace(/^List/, ''), items, description),
        example: [exampleOfMessage(items)],
      },
    },
  };
}

/** Adds the headers that announce a deprecation. */
export function withDeprecation(response: JsonObject): JsonObject {
  const [since, sunset, successor] = ['Deprecation', 'Sunset', 'Link-Successor'].map((name) => refTo('headers', name));
  const announced = { Deprecation: since, Sunset: sunset, Link: successor };
  return { ...response, headers: { ...(response.headers as JsonObject), ...announced } };
}
