/** Requests whose content the service might keep: by how many bytes a process has grown after they have left. */
import { setTimeout as delay } from 'node:timers/promises';
import type { TestStack } from '../stack.ts';
import { until } from '../until.ts';
import { Http1Connection } from './http1-connection.ts';
import { exchange } from './http2.ts';
import { leftOpen, usedBytes } from './probe.ts';
import { pidsOf, rssBytes } from './resources.ts';
import { grpcFrame, grpcHeaders, openSession, targetOf } from './sockets.ts';

/** By how much the server uses more after the work, and what is still open. */
export async function keptAfter(stack: TestStack, warmUp: () => Promise<unknown>, work: () => Promise<unknown>) {
  await warmUp();
  await leftOpen(stack);
  const before = await usedBytes(stack);
  await work();
  const open = await leftOpen(stack);
  return { bytes: (await usedBytes(stack)) - before, open };
}

const WAVE = 40;
const NAME_BYTES = 60_000;
const WAVE_MS = 5_000;

/** Watches the health of so many unknown services with long names, until their deadline. */
export async function watchNames(stack: TestStack, count: number): Promise<void> {
  for (let first = 0; first < count; first += WAVE) {
    const address = `127.0.4.${1 + ((first / WAVE) % 250)}`; // no address sends a flood
    const session = await openSession(targetOf(stack.publicAddress, address));
    const watches = Array.from({ length: WAVE }, (_, index) => {
      const name = Buffer.alloc(NAME_BYTES, `${first + index}-`);
      const length = Buffer.of(0x0a, (NAME_BYTES & 127) | 128, ((NAME_BYTES >> 7) & 127) | 128, NAME_BYTES >> 14);
      const headers = { ...grpcHeaders('/grpc.health.v1.Health/Watch'), 'grpc-timeout': '300m' };
      return exchange(session, headers, { body: grpcFrame(Buffer.concat([length, name])) });
    });
    await Promise.race([Promise.all(watches), delay(WAVE_MS)]);
    session.destroy();
  }
}

const SPACES = 20_000;
/** Envoy returns memory to the system every ten seconds. */
const RETURN_MS = 25_000;

/** Requests whose key has many spaces before it, each another number of them: the growth of Envoy. */
export async function keptOfPaddedKeys(stack: TestStack, count: number, maxBytes: number): Promise<number> {
  const { envoy } = pidsOf(stack);
  const connection = new Http1Connection(targetOf(stack.publicAddress, '127.0.3.2'));
  const send = async (spaces: number) => {
    const authorization = `Authorization: Bearer${' '.repeat(spaces)}${stack.key}`;
    await connection.exchange(Buffer.from(`GET /pets HTTP/1.1\r\nHost: petstore\r\n${authorization}\r\n\r\n`));
  };
  for (let i = 0; i < 100; i += 1) await send(SPACES); // warms it up
  const before = rssBytes(envoy);
  for (let i = 1; i <= count; i += 1) await send(SPACES + i);
  connection.close();
  const growth = () => rssBytes(envoy) - before;
  await until(() => growth() <= maxBytes, 'the memory', RETURN_MS).catch(() => undefined);
  return growth();
}
