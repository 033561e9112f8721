/** What a caller gets when all is well, as the operation's `answer` says. */
import type { DescField, DescMessage, DescMethod } from '@bufbuild/protobuf';
import type { Operation } from '../proto/operations.ts';
import { commentOf } from './comments.ts';
import { exampleOfMessage } from './examples.ts';
import { deprecationHeaders, headers, nextLink } from './headers.ts';
import type { JsonObject } from './json.ts';
import type { Schemas } from './schemas.ts';

interface Success {
  readonly method: DescMethod;
  readonly operation: Operation;
  /** The example of the request's body. */
  readonly sent: JsonObject;
}

/** The response of success, and that the caller has it already, by HTTP status. */
export function successResponses({ method, operation, sent }: Success, schemas: Schemas): Record<string, JsonObject> {
  const { output } = method;
  const { status, list, location } = operation.response;
  if (status === 204) return { 204: { description: 'Done. There is no body.', headers: headers() } };
  if (list?.message !== undefined) return { [status]: page(method, list.message, schemas) };
  const response = {
    description: commentOf(output),
    headers: location === undefined ? headers('ETag') : headers('Location', 'ETag', 'Idempotency-Replayed'),
    content: { 'application/json': { schema: schemas.message(output), example: answerTo(sent, output) } },
  };
  return { [status]: response, ...(operation.condition === 'if-none-match' ? NOT_MODIFIED : {}) };
}

const NOT_MODIFIED = {
  304: { description: 'What `If-None-Match` names is still what it is. There is no body.', headers: headers('ETag') },
};

function page({ name, output }: DescMethod, items: DescMessage, schemas: Schemas): JsonObject {
  const description = commentOf(output);
  return {
    description,
    headers: { ...headers(), ...nextLink() },
    content: {
      'application/json': {
        schema: schemas.list(name.replace(/^List/, ''), items, description),
        example: [exampleOfMessage(items)],
      },
    },
  };
}

/** The example of a resource after the example of a request has been carried out. */
function answerTo(sent: JsonObject, output: DescMessage): JsonObject {
  const isShown = (field: DescField) => field.jsonName in sent;
  const shown = output.fields.filter(isShown).map(({ jsonName }) => [jsonName, sent[jsonName]]);
  return { ...exampleOfMessage(output), ...Object.fromEntries(shown) };
}

/** The response of a deprecated operation, with the headers that announce it. */
export function announcing(response: JsonObject): JsonObject {
  return { ...response, headers: { ...(response.headers as JsonObject), ...deprecationHeaders() } };
}
