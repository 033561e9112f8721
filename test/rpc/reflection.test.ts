/** Reflection, which needs no key: what it shows, and how much may be asked of it. */
import { gzipSync } from 'node:zlib';
import { type ServiceError, status as Status } from '@grpc/grpc-js';
import type { GrpcCaller } from '../support/calls/grpc-caller.ts';
import { grpcFrame, rawGrpc } from '../support/calls/http2.ts';
import { PUBLIC } from '../support/contract/resources.ts';
import { reflectedMethods } from '../support/service/reflection.ts';
import { startTestServer } from '../support/service/server.ts';
import { serverTest } from '../support/service/shared-stack.ts';

const test = serverTest();
const PATH = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
const asIs = (bytes: Buffer) => bytes;

/** Asks for the files of a symbol a number of times, and reads all answers. */
async function ask({ client }: GrpcCaller, service: string, times: number) {
  const stream = client.makeBidiStreamRequest(PATH, asIs, asIs);
  const answers: Buffer[] = [];
  const end = new Promise<number>((resolve) => {
    stream.on('data', (bytes: Buffer) => answers.push(bytes));
    stream.on('error', ({ code }: ServiceError) => resolve(code));
    stream.on('end', () => resolve(Status.OK));
  });
  const request = Buffer.from([0x22, service.length, ...Buffer.from(service)]); // file_containing_symbol
  for (let i = 0; i < times; i += 1) stream.write(request);
  stream.end();
  return { code: await end, answers };
}

test('Reflection - shows the public services only', async (t) => {
  // Tools print the details of errors.
  for (const name of ['v1.PetService', 'v1.PetService.GetPet', 'grpc.health.v1.Health', 'google.rpc.ErrorInfo']) {
    const { answers } = await ask(t.context.grpc, name.replace(/^v1/, 'petstore.v1'), 1);
    t.true((answers[0]?.length ?? 0) > 200 && answers[0]?.includes(name.split('.').at(-1) ?? ''), name);
  }
  for (const name of ['admin.v1.AdminService', 'edge.v1.EdgeService', 'web.v1.WebService', 'admin.v1.Account']) {
    const { answers } = await ask(t.context.grpc, `apiplatform.${name}`, 1);
    t.true((answers[0]?.length ?? 0) < 200 && answers[0]?.includes('not found'), name);
  }
});

test('Reflection - one stream gets at most 256 KiB of answers', async (t) => {
  const { code, answers } = await ask(t.context.grpc, 'petstore.v1.PetService', 200);
  t.is(code, Status.RESOURCE_EXHAUSTED);
  t.true(Buffer.concat(answers).length <= 2 ** 18);
});

test('Reflection - an address is answered as often as it may send requests without a key', async (t) => {
  const { grpc } = await startTestServer(t, { ADDRESS_BURST: '30', ADDRESS_PER_SECOND: '1' });
  const [first, second] = [await ask(grpc, 'none', 20), await ask(grpc, 'none', 20)];
  t.deepEqual([first.code, first.answers.length, second.code], [Status.OK, 20, Status.RESOURCE_EXHAUSTED]);
  t.true(second.answers.length >= 10 && second.answers.length <= 15, `${second.answers.length} answers`);
});

test('Reflection - an answer counts as one request for each 32 KiB of it', async (t) => {
  const { grpc } = await startTestServer(t, { ADDRESS_BURST: '4', ADDRESS_PER_SECOND: '1' });
  const { answers } = await ask(grpc, 'petstore.v1.PetService', 1);
  t.true((answers[0]?.length ?? 0) > 65_536);
  t.is((await ask(grpc, 'petstore.v1.PetService', 1)).code, Status.RESOURCE_EXHAUSTED);
});

test('Keyless messages - of reflection and health have 1 KiB at most, also when they are compressed', async (t) => {
  const unknown = Buffer.from(Array(20_000).fill([0x98, 0x06, 1]).flat()); // fields that no message has
  const symbol = (length: number) => Buffer.of(0x22, (length % 128) | 128, length >> 7, ...Buffer.alloc(length, 'a.'));
  const send = async (path: string, message: Buffer, isGzip: boolean) => {
    const body = grpcFrame(isGzip ? gzipSync(message) : message, isGzip);
    const { status, reason } = await rawGrpc(t.context.address, {
      path,
      headers: isGzip ? { 'grpc-encoding': 'gzip' } : {},
      body,
    });
    return reason ?? status;
  };
  for (const isGzip of [true, false]) {
    for (const path of [PATH, ...['Check', 'Watch', 'List'].map((name) => `/grpc.health.v1.Health/${name}`)]) {
      t.is(await send(path, unknown, isGzip), 'BODY_TOO_LARGE', path);
      t.is(await send(path, symbol(1_022), isGzip), 'BODY_TOO_LARGE', path);
    }
    t.is(await send(PATH, symbol(1_021), isGzip), Status.OK, 'a long name');
  }
});

for (const version of ['v1', 'v1alpha'] as const) {
  test(`Reflection ${version} - lists health and petstore.v1's services alone, without a key`, async (t) => {
    const health = ['Check', 'List', 'Watch'].map((name) => `grpc.health.v1.Health/${name}`);
    const expected = [...health, ...PUBLIC.map(({ path }) => path.slice(1))];
    t.deepEqual((await reflectedMethods(t.context.address, version)).sort(), expected.sort());
  });
}
