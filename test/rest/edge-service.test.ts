/** How Envoy's own findings are worded. rest/requests.test.ts and rest/bodies.test.ts have which error each is. */
import test, { type ExecutionContext } from 'ava';
import type { RefuseRequest } from '../../gen/apiplatform/edge/v1/edge.ts';
import { ApiError } from '../../src/platform/errors.ts';
import { loadOperations } from '../../src/platform/proto/operations.ts';
import { edgeService } from '../../src/platform/rest/edge-service.ts';

const edge = edgeService(loadOperations().byPath.values());

type Refused = Partial<Omit<RefuseRequest, 'reply'>> & { readonly reply?: string };

async function refuse(t: ExecutionContext, { reply = '', ...request }: Refused): Promise<ApiError> {
  const bytes = Buffer.from(reply);
  const whole = { method: 'GET', path: '/pets', status: 400, reply: bytes, contentType: undefined, ...request };
  return (await t.throwsAsync(edge.refuse(whole, { protocol: { name: 'REST' } }), {
    instanceOf: ApiError,
  })) as ApiError;
}

const post = (reply: string) => ({ method: 'POST', path: '/pets', contentType: 'application/json', reply });

/** What the transcoder says, and what the caller gets. bodies.test.ts has what json.lua says. */
const WRONG_VALUES = [
  ['/pets', 'pet.category_id: invalid value "a" for type TYPE_INT64', 'categoryId: "a" is not a whole number'],
  ['/pets', 'pet.name: invalid value 5 for type TYPE_STRING', 'name: 5 is not a string'],
  [
    '/pets',
    'pet.status: invalid value "gone" for type type.googleapis.com/petstore.v1.PetStatus',
    'status: "gone" is none of available, pending, sold',
  ],
  ['/pets', ": oneof field '_quantity' is already set.", 'body: has a value of another type'],
  [
    '/store/orders',
    "order.ship_date: invalid value Field 'shipDate', Illegal timestamp format; timestamps must end for type Timestamp",
    'shipDate: is no RFC 3339 timestamp',
  ],
  ['GET /pets/a', 'pet_id: invalid value "a" for type TYPE_INT64', 'petId: "a" is not a whole number'],
  [
    'GET /pets?ids=1,2',
    'ids: invalid value "1,2" for type TYPE_INT64',
    'ids: "1,2" is not a whole number: repeat the name for each, ids=1&ids=…',
  ],
  ['GET /pets?limit=x&a=1', 'limit: invalid value "x" for type TYPE_INT32', 'a: is not a query parameter here'],
  ['HEAD /pets/a', '', 'a value in the path or the query is invalid'], // Envoy has no message for HEAD
] as const;

test("Refusal - a value of the wrong type is INVALID_ARGUMENT under the field's JSON name", async (t) => {
  for (const [target, reply, message] of WRONG_VALUES) {
    const [path = '', method] = target.split(' ').reverse();
    const { code, ...error } = await refuse(
      t,
      method === undefined ? { ...post(reply), path } : { method, path, reply },
    );
    t.is(code, 'INVALID_ARGUMENT', reply);
    const said = error.violations.map(({ name, description }) => `${name}: ${description}`).join() || message;
    if (typeof message === 'string') t.is(said, message);
    else t.regex(String(said), message);
    if (method === undefined) t.is(error.violations[0]?.path, reply.split(':')[0]);
  }
  const onEveryMethod = await refuse(t, { path: '/healthz?colour=red' });
  t.is(onEveryMethod.message, 'colour: is not a query parameter here');
});
