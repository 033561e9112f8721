/**
 * What a caller gets when all is well. The Lua filter of Envoy shapes the same answers by the same conventions: POST creates, so it
 * answers 201 with the Location; DELETE answers 204 without a body; a page is a bare array with a Link to the next.
 */
import type { DescField, DescMessage, DescMethod } from '@bufbuild/protobuf';
import { commentOf } from './comments.ts';
import { exampleOfMessage } from './examples.ts';
import { deprecationHeaders, headers, nextLink } from './headers.ts';
import type { JsonObject } from './json.ts';
import type { Schemas } from './schemas.ts';

const EMPTY = 'google.protobuf.Empty';

interface Success {
  readonly method: DescMethod;
  /** The HTTP method, in upper case. */
  readonly httpMethod: string;
  /** The example of the request's body. */
  readonly sent: JsonObject;
}

/** The one response of success, by its HTTP status. */
export function successResponse({ method, httpMethod, sent }: Success, schemas: Schemas): Record<string, JsonObject> {
  const { output } = method;
  if (output.typeName === EMPTY) return { 204: { description: 'Done. There is no body.', headers: headers() } };
  const items = pageItems(output);
  if (items !== undefined) return { 200: page(method, items, schemas) };
  const created = httpMethod === 'POST';
  const response = {
    description: commentOf(output),
    headers: created ? headers('Location') : headers(),
    content: { 'application/json': { schema: schemas.message(output), example: answerTo(sent, output) } },
  };
  return { [created ? 201 : 200]: response };
}

/** The resources of a paged list; undefined for any other response. */
function pageItems({ fields }: DescMessage): DescMessage | undefined {
  const [items, token] = fields;
  const isPage = fields.length === 2 && items?.fieldKind === 'list' && token?.name === 'next_page_token';
  return isPage ? items.message : undefined;
}

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
