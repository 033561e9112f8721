import { Metadata, Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { CategoryServiceService } from '../../gen/petstore/v1/categories.ts';
import { createClient, etagOf, type PetstoreClient } from '../../src/client/index.ts';

/** A server that records the metadata that it receives, which the real one does not show. */
interface Context {
  readonly client: PetstoreClient;
  readonly server: Server;
  /** The metadata of each attempt at a call. */
  readonly received: Record<string, unknown>[];
  /** The status codes with which the next attempts fail. */
  readonly failures: status[];
}

const test = anyTest as TestFn<Context>;
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
const category = { name: 'Cats' };
const RESPONSE = { id: 7n, ...category };

test.beforeEach(async (t) => {
  const received: Record<string, unknown>[] = [];
  const failures: status[] = [];
  const respond = (call: ServerUnaryCall<unknown, unknown>, callback: sendUnaryData<typeof RESPONSE>) => {
    received.push(call.metadata.getMap());
    const code = failures.shift();
    if (code !== undefined) return callback({ code });
    const metadata = new Metadata();
    metadata.set('etag', '"abc"');
    call.sendMetadata(metadata);
    callback(null, RESPONSE);
  };
  const { createCategory, getCategory, replaceCategory } = CategoryServiceService;
  const server = new Server();
  server.addService(
    { createCategory, getCategory, replaceCategory },
    {
      createCategory: respond,
      getCategory: respond,
      replaceCategory: respond,
    },
  );
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  t.context = { client: createClient({ address: `127.0.0.1:${port}`, apiKey: 'key' }), server, received, failures };
});
test.afterEach.always(async ({ context }) => {
  await context.client.close();
  context.server.forceShutdown();
});

test('idempotency - every create carries its own key', async (t) => {
  const { client, received } = t.context;
  await client.categories.createCategory({ category });
  await client.categories.createCategory({ category });
  const [first, second] = received.map((metadata) => String(metadata['idempotency-key']));
  t.regex(first ?? '', UUID);
  t.regex(second ?? '', UUID);
  t.not(first, second);
});

test('idempotency - retries of a create after UNAVAILABLE and DEADLINE_EXCEEDED carry the same key', async (t) => {
  const { client, received, failures } = t.context;
  failures.push(status.UNAVAILABLE, status.DEADLINE_EXCEEDED);
  t.like(await client.categories.createCategory({ category }), category);
  t.is(received.length, 3);
  t.is(new Set(received.map((metadata) => metadata['idempotency-key'])).size, 1);
});

test("idempotency - a caller's key replaces the generated one, and only a create carries a key", async (t) => {
  const { client, received } = t.context;
  await client.categories.createCategory({ category }, { idempotencyKey: 'mine' });
  await client.categories.getCategory({ categoryId: 7n });
  await client.categories.replaceCategory({ categoryId: 7n, category });
  t.deepEqual(
    received.map((metadata) => metadata['idempotency-key']),
    ['mine', undefined, undefined],
  );
  // @ts-expect-error only a create takes one
  const mistyped = () => client.categories.getCategory({ categoryId: 7n }, { idempotencyKey: 'mine' });
  t.is(typeof mistyped, 'function');
});

test('etags - the tag of a response is the condition of a write', async (t) => {
  const { client, received } = t.context;
  const found = await client.categories.getCategory({ categoryId: 7n });
  t.is(etagOf(found), '"abc"');
  await client.categories.replaceCategory({ categoryId: 7n, category }, { ifMatch: etagOf(found) });
  await client.categories.replaceCategory({ categoryId: 7n, category });
  t.deepEqual(
    received.map((metadata) => metadata['if-match']),
    [undefined, '"abc"', undefined],
  );
  // @ts-expect-error only a write takes one
  const mistyped = () => client.categories.getCategory({ categoryId: 7n }, { ifMatch: '"abc"' });
  t.is(typeof mistyped, 'function');
});

test('etags - a copy of a response has no tag, and etagOf throws', async (t) => {
  const found = await t.context.client.categories.getCategory({ categoryId: 7n });
  t.deepEqual(Object.keys(found).sort(), ['description', 'id', 'name'], 'the tag is not a field of the message');
  t.throws(() => etagOf({ ...found }), { instanceOf: TypeError });
});
