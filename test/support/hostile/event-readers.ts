/** Streams of events, many at a time, over each protocol and with each way not to read them. */
import { setTimeout as delay } from 'node:timers/promises';
import { EventServiceService as Events } from '../../../gen/petstore/v1/events.ts';
import type { TestStack } from '../stack.ts';
import { type Fields, FrameSession } from './frames.ts';
import { grpcFrame, openSocket, targetOf } from './sockets.ts';

export type Protocol = 'HTTP/1.1' | 'HTTP/2' | 'gRPC';

export interface Readers {
  readonly protocol: Protocol;
  /** One key for each stream. */
  readonly keys: readonly string[];
  /** The id after which they begin; undefined: now. */
  readonly after?: number;
  /** The window that the callers choose for their streams, in bytes. Default: that of HTTP/2. */
  readonly window?: number;
  /** Whether they stop to read their connections when their streams have begun. */
  readonly stopsReading?: boolean;
}

export interface OpenReaders {
  /** How those ended that have ended: statuses. */
  readonly outcomes: readonly string[];
  close(): void;
}

/** Beyond the streams that Envoy lets a connection have, more connections are opened. */
const PER_CONNECTION = 100;
const BEGIN_MS = 500;
const PATH = '/events/stream';

export async function openReaders(stack: TestStack, readers: Readers): Promise<OpenReaders> {
  const outcomes: string[] = [];
  const target = targetOf(stack.publicAddress, '127.0.0.9');
  const { protocol, keys, after, window, stopsReading = false } = readers;
  const query = after === undefined ? '' : `?after=${after}`;
  if (protocol === 'HTTP/1.1') {
    const sockets = keys.map((key) => {
      const socket = openSocket(target).pause();
      socket.write(`GET ${PATH}${query} HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer ${key}\r\n\r\n`);
      return socket;
    });
    return { outcomes, close: () => void sockets.map((socket) => socket.destroy()) };
  }
  const body = grpcFrame(
    Events.watchEvents.requestSerialize({ types: [], ...(after === undefined ? {} : { after: BigInt(after) }) }),
  );
  const sessions: FrameSession[] = [];
  for (let from = 0; from < keys.length; from += PER_CONNECTION) {
    const session = await FrameSession.open(target, 0, window);
    if (session === undefined) throw new Error('the connection was refused');
    sessions.push(session);
    for (const key of keys.slice(from, from + PER_CONNECTION)) {
      const common: Fields = { ':scheme': 'http', ':authority': 'petstore', authorization: `Bearer ${key}` };
      const { ended } =
        protocol === 'gRPC'
          ? session.request({ ...common, ...GRPC }, { endStream: true, body })
          : session.request({ ...common, ':method': 'GET', ':path': `${PATH}${query}` }, { endStream: true });
      void ended.then((outcome) => outcomes.push(outcome));
    }
    if (!stopsReading) continue;
    await delay(BEGIN_MS);
    session.stopReading();
  }
  return { outcomes, close: () => void sessions.map((session) => session.destroy()) };
}

const GRPC: Fields = {
  ':method': 'POST',
  ':path': Events.watchEvents.path,
  'content-type': 'application/grpc',
  te: 'trailers',
};
