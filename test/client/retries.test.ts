import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import anyTest, { type TestFn } from 'ava';
import { createClient, type PetstoreClient } from '../../src/client/index.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

/** A TCP proxy in front of the server. Tests interrupt it. */
interface TcpProxy {
  readonly address: string;
  /** Drops the server's responses from now on. */
  dropResponses(): void;
  /** Closes every connection, and forwards responses again. */
  disconnect(): void;
  /** Closes every connection and accepts no new one. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

const test = anyTest as TestFn<TestStack & { proxy: TcpProxy; client: PetstoreClient; direct: PetstoreClient }>;

test.before(async (t) => {
  const stack = await startTestStack();
  const proxy = await startProxy(stack.config.grpcPort);
  const client = createClient({ address: proxy.address, apiKey: stack.key });
  t.context = { ...stack, proxy, client, direct: createClient({ address: stack.grpcAddress, apiKey: stack.key }) };
  await client.pets.listPets({}); // connects
});
test.after.always(async ({ context }) => {
  await context.client.close();
  await context.direct.close();
  await context.proxy.stop();
  await context.close();
});

async function startProxy(port: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let isDropping = false;
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    }
    near.pipe(far);
    far.on('data', (bytes) => isDropping || near.write(bytes)).on('end', () => near.end());
  });
  const listen = (at: number) => new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve));
  const disconnect = () => {
    isDropping = false;
    for (const socket of sockets) socket.destroy();
  };
  await listen(0);
  const { port: nearPort } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${nearPort}`,
    dropResponses: () => {
      isDropping = true;
    },
    disconnect,
    start: () => listen(nearPort),
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      disconnect();
      await closed;
    },
  };
}

async function names(client: PetstoreClient): Promise<string[]> {
  return (await client.categories.listCategories({ limit: 100 })).categories.map(({ name }) => name);
}

test.serial('retries - an idempotent call survives a short outage', async (t) => {
  const { proxy, client } = t.context;
  await proxy.stop();
  const call = client.pets.listPets({});
  await delay(500); // the outage
  await proxy.start();
  t.true(Array.isArray((await call).pets));
});

test.serial('retries - an idempotent call is retried after a broken connection', async (t) => {
  const { proxy, client, direct } = t.context;
  const { id } = await client.categories.createCategory({ category: { name: 'before' } });
  proxy.dropResponses();
  const call = client.categories.replaceCategory({ categoryId: id, category: { name: 'replaced' } });
  await until(async () => (await names(direct)).includes('replaced'), 'the category replaced');
  proxy.disconnect();
  t.is((await call).name, 'replaced');
});

test.serial('retries - a create is retried after a broken connection, and done once', async (t) => {
  const { proxy, client, direct } = t.context;
  proxy.dropResponses();
  const call = client.categories.createCategory({ category: { name: 'only once' } });
  await until(async () => (await names(direct)).includes('only once'), 'the category only once');
  proxy.disconnect();
  const { id } = await call;
  t.is((await direct.categories.getCategory({ categoryId: id })).name, 'only once');
  t.is((await names(direct)).filter((name) => name === 'only once').length, 1);
});

test.serial('retries - an update is not retried after a broken connection: it may have been done', async (t) => {
  const { proxy, client, direct } = t.context;
  const { id: categoryId } = await client.categories.createCategory({ category: { name: 'to be updated' } });
  proxy.dropResponses();
  const call = client.categories.updateCategory({ categoryId, category: { name: 'updated' } });
  await until(async () => (await names(direct)).includes('updated'), 'the category updated');
  proxy.disconnect();
  await t.throwsAsync(call, { name: 'PetstoreError', code: 'UNAVAILABLE' });
});

test.serial(
  'retries - a create whose deadline has passed can be sent again with its key, and is done once',
  async (t) => {
    const { proxy, client, direct } = t.context;
    const create = (timeoutMs: number) =>
      client.categories.createCategory({ category: { name: 'late' } }, { idempotencyKey: 'late-1', timeoutMs });
    await names(client); // connects
    proxy.dropResponses();
    const late = t.throwsAsync(create(5_000), { code: 'DEADLINE_EXCEEDED' });
    await until(async () => (await names(direct)).includes('late'), 'the category late');
    await late;
    proxy.disconnect();
    const { id } = await create(10_000);
    t.is((await direct.categories.getCategory({ categoryId: id })).name, 'late');
    t.is((await names(direct)).filter((name) => name === 'late').length, 1);
  },
);

test.serial('deadline - a queued call fails when its deadline passes', async (t) => {
  const { proxy, key } = t.context;
  const client = createClient({ address: proxy.address, apiKey: key, maxInFlight: 1 });
  await client.pets.listPets({});
  proxy.dropResponses();
  const ahead = t.throwsAsync(client.pets.listPets({}, { timeoutMs: 400 }), { code: 'DEADLINE_EXCEEDED' });
  const message = 'the deadline passed before the call could be sent';
  await t.throwsAsync(client.pets.listPets({}, { timeoutMs: 100 }), { code: 'DEADLINE_EXCEEDED', message });
  await ahead;
  proxy.disconnect();
  await client.close();
});

test.serial('retries - maxAttempts 1 switches them off', async (t) => {
  const client = createClient({ address: '127.0.0.1:1', apiKey: t.context.key, maxAttempts: 1 });
  const startMs = performance.now();
  await t.throwsAsync(client.pets.listPets({}), { code: 'UNAVAILABLE' });
  t.true(performance.now() - startMs < 1_500);
  await client.close();
});

test('retries - while the server is unavailable a call that may be repeated has 5 attempts, others one', async (t) => {
  const requests: string[] = [];
  const server = createHttp2Server().on('stream', (stream: ServerHttp2Stream, headers) => {
    requests.push(String(headers[':path']));
    stream.respond({ 'content-type': 'application/grpc', 'grpc-status': '14' }, { endStream: true });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const client = createClient({ address: `127.0.0.1:${port}`, apiKey: t.context.key });
  t.teardown(() => client.close().then(() => server.close()));
  await t.throwsAsync(client.pets.getPet({ petId: 1n }));
  t.is(requests.splice(0).length, 5);
  await t.throwsAsync(client.pets.createPet({ pet: { name: 'Tom', categoryId: 1n } }));
  t.is(requests.splice(0).length, 5);
  await t.throwsAsync(client.pets.updatePet({ petId: 1n, pet: { name: 'Tom' } }));
  t.is(requests.length, 1);
});
