/** The limits of streams that need no key. */
import {
  Client,
  type ClientReadableStream,
  status as Code,
  Metadata,
  type Server,
  ServerCredentials,
} from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { HealthImplementation } from 'grpc-health-check';
import { createGrpcServer } from '../../src/grpc/adapter.ts';
import { limitStreams } from '../../src/grpc/stream-limits.ts';
import { insecure } from '../support/grpc.ts';

const MAX_PER_ADDRESS = 3;

interface Context {
  readonly server: Server;
  readonly client: Client;
}
const test = anyTest as TestFn<Context>;

/** A server whose streams last for `maxMs`. */
async function start(maxMs: number): Promise<Context> {
  const otherCalls = limitStreams({ maxPerAddress: MAX_PER_ADDRESS, maxMs, toHttpError: () => undefined });
  const server = createGrpcServer({ services: [], operations: new Map(), otherCalls });
  new HealthImplementation({ '': 'SERVING' }).addToServer(server);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return { server, client: new Client(`127.0.0.1:${port}`, insecure) };
}

test.afterEach.always(({ context }) => {
  context.client.close();
  context.server.forceShutdown();
});

interface Watch {
  /** Resolves with `answered` for the first message, or with the status of the call. */
  readonly first: Promise<string>;
  /** Resolves with the status that the call ended with. */
  readonly ended: Promise<Code>;
  readonly stream: ClientReadableStream<Buffer>;
}

function watch({ client }: Context, address: string): Watch {
  const asIs = (bytes: Buffer) => bytes;
  const headers = Metadata.fromHttp2Headers({ 'x-forwarded-for': address });
  const stream = client.makeServerStreamRequest('/grpc.health.v1.Health/Watch', asIs, asIs, Buffer.alloc(0), headers);
  const ended = new Promise<Code>((resolve) => stream.on('status', ({ code }) => resolve(code)));
  stream.on('error', () => undefined);
  const answered = new Promise<string>((resolve) => stream.once('data', () => resolve('answered')));
  return { stream, ended, first: Promise.race([answered, ended.then((code) => Code[code])]) };
}

test('Streams - each address has its own limit of open streams', async (t) => {
  const context = await start(60_000);
  Object.assign(t.context, context);
  const watches = Array.from({ length: MAX_PER_ADDRESS }, () => watch(context, '10.0.0.1'));
  for (const { first } of watches) t.is(await first, 'answered');
  t.is(await watch(context, '10.0.0.1').first, 'RESOURCE_EXHAUSTED');
  t.is(await watch(context, '10.0.0.2').first, 'answered');
});

test('Streams - a stream that its caller leaves makes room for another', async (t) => {
  const context = await start(60_000);
  Object.assign(t.context, context);
  for (let round = 0; round < 3 * MAX_PER_ADDRESS; round += 1) {
    const { first, stream, ended } = watch(context, '10.0.0.1');
    t.is(await first, 'answered');
    stream.cancel();
    t.is(await ended, Code.CANCELLED);
  }
});

test('Streams - a stream ends at its maximum age, and makes room for another', async (t) => {
  const context = await start(300);
  Object.assign(t.context, context);
  const watches = Array.from({ length: MAX_PER_ADDRESS }, () => watch(context, '10.0.0.1'));
  for (const { first, ended } of watches) {
    t.is(await first, 'answered');
    t.is(await ended, Code.DEADLINE_EXCEEDED);
  }
  t.is(await watch(context, '10.0.0.1').first, 'answered');
});
