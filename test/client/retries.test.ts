import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import anyTest, { type TestFn } from 'ava';
import { createClient, type PetstoreClient } from '../../src/client/index.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

/** A wire to the server that a test can cut. */
interface Wire {
  readonly address: string;
  /** From now on the server hears but is not heard. */
  mute(): void;
  /** Ends every connection. */
  cut(): void;
  /** Ends every connection and takes no new one. */
  unplug(): Promise<void>;
  plugIn(): Promise<void>;
}

const test = anyTest as TestFn<TestStack & { wire: Wire; client: PetstoreClient; direct: PetstoreClient }>;

test.before(async (t) => {
  const stack = await startTestStack();
  const wire = await layWire(stack.config.grpcPort);
  const client = createClient({ address: wire.address, apiKey: stack.key });
  t.context = { ...stack, wire, client, direct: createClient({ address: stack.grpcAddress, apiKey: stack.key }) };
  await client.pets.listPets({}); // it is connected
});
test.after.always(async ({ context }) => {
  await context.client.close();
  await context.direct.close();
  await context.wire.unplug();
  await context.close();
});

async function layWire(port: number): Promise<Wire> {
  const sockets = new Set<Socket>();
  let isMute = false;
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    }
    near.pipe(far);
    far.on('data', (bytes) => isMute || near.write(bytes)).on('end', () => near.end());
  });
  const listen = (at: number) => new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve));
  const cut = () => {
    isMute = false;
    for (const socket of sockets) socket.destroy();
  };
  await listen(0);
  const { port: nearPort } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${nearPort}`,
    mute: () => {
      isMute = true;
    },
    cut,
    plugIn: () => listen(nearPort),
    async unplug() {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
  };
}

async function names(client: PetstoreClient): Promise<string[]> {
  return (await client.categories.listCategories({ limit: 100 })).categories.map(({ name }) => name);
}

test.serial('retries - an idempotent call rides out a server that is away for a moment', async (t) => {
  const { wire, client } = t.context;
  await wire.unplug();
  const call = client.pets.listPets({});
  await delay(500); // the outage
  await wire.plugIn();
  t.true(Array.isArray((await call).pets));
});

test.serial('retries - an idempotent call is repeated when the connection breaks under it', async (t) => {
  const { wire, client, direct } = t.context;
  const { id } = await client.categories.createCategory({ category: { name: 'before' } });
  wire.mute();
  const call = client.categories.replaceCategory({ categoryId: id, category: { name: 'replaced' } });
  await until(async () => (await names(direct)).includes('replaced'), 'the category replaced');
  wire.cut();
  t.is((await call).name, 'replaced');
});

test.serial('retries - a create is repeated when the connection breaks under it, and done once', async (t) => {
  const { wire, client, direct } = t.context;
  wire.mute();
  const call = client.categories.createCategory({ category: { name: 'only once' } });
  await until(async () => (await names(direct)).includes('only once'), 'the category only once');
  wire.cut();
  const { id } = await call;
  t.is((await direct.categories.getCategory({ categoryId: id })).name, 'only once');
  t.is((await names(direct)).filter((name) => name === 'only once').length, 1);
});

test.serial('retries - an update is never repeated when the connection breaks: it may have been done', async (t) => {
  const { wire, client, direct } = t.context;
  const { id: categoryId } = await client.categories.createCategory({ category: { name: 'to be updated' } });
  wire.mute();
  const call = client.categories.updateCategory({ categoryId, category: { name: 'updated' } });
  await until(async () => (await names(direct)).includes('updated'), 'the category updated');
  wire.cut();
  await t.throwsAsync(call, { name: 'PetstoreError', code: 'UNAVAILABLE' });
});

test.serial(
  'retries - a create whose deadline has passed can be sent again with its key, and is done once',
  async (t) => {
    const { wire, client, direct } = t.context;
    const create = (timeoutMs: number) =>
      client.categories.createCategory({ category: { name: 'late' } }, { idempotencyKey: 'late-1', timeoutMs });
    await names(client); // it is connected
    wire.mute();
    const late = t.throwsAsync(create(5_000), { code: 'DEADLINE_EXCEEDED' });
    await until(async () => (await names(direct)).includes('late'), 'the category late');
    await late;
    wire.cut();
    const { id } = await create(10_000);
    t.is((await direct.categories.getCategory({ categoryId: id })).name, 'late');
    t.is((await names(direct)).filter((name) => name === 'late').length, 1);
  },
);

test.serial('deadline - passes for a call that waits behind others too', async (t) => {
  const { wire, key } = t.context;
  const client = createClient({ address: wire.address, apiKey: key, maxInFlight: 1 });
  await client.pets.listPets({});
  wire.mute();
  const ahead = t.throwsAsync(client.pets.listPets({}, { timeoutMs: 400 }), { code: 'DEADLINE_EXCEEDED' });
  const message = 'the deadline passed before the call could be sent';
  await t.throwsAsync(client.pets.listPets({}, { timeoutMs: 100 }), { code: 'DEADLINE_EXCEEDED', message });
  await ahead;
  wire.cut();
  await client.close();
});

test.serial('retries - maxAttempts 1 switches them off', async (t) => {
  const client = createClient({ address: '127.0.0.1:1', apiKey: t.context.key, maxAttempts: 1 });
  const startMs = performance.now();
  await t.throwsAsync(client.pets.listPets({}), { code: 'UNAVAILABLE' });
  t.true(performance.now() - startMs < 1_500);
  await client.close();
});
