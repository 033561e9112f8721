/** What callers can make the service keep: by how many bytes a process has grown after they have left. */
import { setTimeout as delay } from 'node:timers/promises';
import type { TestStack } from '../stack.ts';
import { until } from '../until.ts';
import { Http1Connection } from './http1-connection.ts';
import { leftOpen, usedBytes } from './probe.ts';
import { pidsOf, rssBytes } from './resources.ts';
import { grpcFrame, grpcHeaders, openSession, targetOf } from './sockets.ts';

interface Flood {
  readonly count: number;
  readonly signal?: AbortSignal | undefined;
}

const WAVE = 40;
const NAME_BYTES = 60_000;
const DEADLINE = '300m';
const WAVE_MS = 5_000;

/** Health watches of unknown services with long names: the growth of what the server uses. */
export async function keptOfHealthNames(stack: TestStack, { count, signal }: Flood): Promise<number> {
  await watchNames(stack, WAVE); // warms it up
  await leftOpen(stack);
  const before = await usedBytes(stack);
  for (let sent = 0; sent < count; sent += WAVE) {
    signal?.throwIfAborted();
    await watchNames(stack, sent);
  }
  await leftOpen(stack);
  return (await usedBytes(stack)) - before;
}

/** Watches that many names at once until their deadline. */
async function watchNames(stack: TestStack, first: number): Promise<void> {
  const address = `127.0.4.${1 + ((first / WAVE) % 250)}`; // no address sends a flood
  const session = await openSession(targetOf(stack.publicAddress, address));
  const watches = Array.from({ length: WAVE }, (_, index) => {
    const name = Buffer.alloc(NAME_BYTES, `${first + index}-`);
    const length = Buffer.of(0x0a, (NAME_BYTES & 127) | 128, ((NAME_BYTES >> 7) & 127) | 128, NAME_BYTES >> 14);
    const headers = { ...grpcHeaders('/grpc.health.v1.Health/Watch'), 'grpc-timeout': DEADLINE };
    const stream = session.request(headers, { endStream: false });
    stream.on('error', () => undefined).resume();
    stream.end(grpcFrame(Buffer.concat([length, name])));
    return new Promise((resolve) => stream.on('close', resolve));
  });
  await Promise.race([Promise.all(watches), delay(WAVE_MS)]);
  session.destroy();
}

const SPACES = 20_000;
/** Envoy returns memory to the system every ten seconds. */
const RETURN_MS = 25_000;

/** Requests whose key has many spaces before it, each another number of them: the growth of Envoy. */
export async function keptOfPaddedKeys(stack: TestStack, { count, signal }: Flood, maxBytes: number): Promise<number> {
  const { envoy } = pidsOf(stack);
  const connection = new Http1Connection(targetOf(stack.publicAddress, '127.0.3.2'));
  const send = async (spaces: number) => {
    const authorization = `Authorization: Bearer${' '.repeat(spaces)}${stack.key}`;
    await connection.exchange(Buffer.from(`GET /pets HTTP/1.1\r\nHost: petstore\r\n${authorization}\r\n\r\n`));
  };
  for (let i = 0; i < 100; i += 1) await send(SPACES); // warms it up
  const before = rssBytes(envoy);
  for (let i = 1; i <= count; i += 1) {
    signal?.throwIfAborted();
    await send(SPACES + i);
  }
  connection.close();
  const growth = () => rssBytes(envoy) - before;
  await until(() => growth() <= maxBytes, 'the memory', RETURN_MS).catch(() => undefined);
  return growth();
}
