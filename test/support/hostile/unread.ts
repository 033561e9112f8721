/** Responses that are requested over HTTP/2 and read slowly or never. */
import type { ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import { CategoryServiceService as Categories } from '../../../gen/petstore/v1/categories.ts';
import type { TestStack } from '../stack.ts';
import { grpcFrame, grpcHeaders, openSession, targetOf } from './sockets.ts';

export interface Unread {
  readonly headers: OutgoingHttpHeaders;
  readonly body?: Buffer;
  /** How many bytes are read a second; none by default. */
  readonly bytesPerSecond?: number;
}

const AT_A_TIME = 5;
const SLICE_MS = 100;

/** Requests it five times. Resolves with whether all have ended by themselves within the time. */
export async function endedBy(
  stack: TestStack,
  { headers, body, bytesPerSecond = 0 }: Unread,
  waitMs: number,
): Promise<boolean> {
  const window = { initialWindowSize: bytesPerSecond === 0 ? 0 : 16_384 };
  const session = await openSession(targetOf(stack.publicAddress, '127.0.0.9'), 0, window);
  const all = Array.from({ length: AT_A_TIME }, () => {
    const stream = session.request(headers, { endStream: body === undefined }).on('error', () => undefined);
    if (body !== undefined) stream.end(body);
    void readSlowly(stream, bytesPerSecond);
    return new Promise<void>((resolve) => stream.on('close', () => resolve()));
  });
  const late = delay(waitMs, false, { ref: false });
  return Promise.race([Promise.all(all).then(() => true), late]).finally(() => session.destroy());
}

async function readSlowly(stream: ClientHttp2Stream, bytesPerSecond: number): Promise<void> {
  const slice = (bytesPerSecond * SLICE_MS) / 1_000;
  while (slice > 0 && !stream.destroyed) {
    stream.read(Math.min(slice, stream.readableLength) || undefined);
    await delay(SLICE_MS);
  }
}

/** Fills the store with the largest list: about 600 KB. */
export async function storeLargestList({ rest }: TestStack): Promise<void> {
  const description = '猫'.repeat(2_000);
  for (let i = 1; i <= 100; i += 1) await rest.post('/categories', { name: `Category ${i}`, description });
}

/** Requests of that list, over each protocol. */
export function largestLists(key: string): Readonly<Record<'REST' | 'gRPC' | 'gRPC-Web' | 'Connect', Unread>> {
  const { path, requestSerialize } = Categories.listCategories;
  const message = requestSerialize({ limit: 100, pageToken: '' });
  const authorization = `Bearer ${key}`;
  const grpc = { ...grpcHeaders(path, key), 'grpc-timeout': '1S' };
  return {
    REST: { headers: { ':path': '/categories?limit=100', authorization } },
    gRPC: { headers: grpc, body: grpcFrame(message) },
    'gRPC-Web': { headers: { ...grpc, 'content-type': 'application/grpc-web' }, body: grpcFrame(message) },
    Connect: {
      headers: {
        ':method': 'POST',
        ':path': path,
        authorization,
        'content-type': 'application/proto',
        'connect-protocol-version': '1',
        'connect-timeout-ms': '1000',
      },
      body: message,
    },
  };
}
