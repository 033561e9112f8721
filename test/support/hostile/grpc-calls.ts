/** gRPC calls that are opened and held, so that each may occupy a slot. */
import type { ClientHttp2Stream } from 'node:http2';
import { generateKey } from '../../../src/access/keys/format.ts';
import { type Attack, type AttackContext, forEachConnection } from './attack.ts';
import { grpcFrame, grpcHeaders, openSession } from './sockets.ts';

/** The streams of a connection: 100 are allowed, one is spare. */
const SIZE = { connections: 55, perConnection: 99 };

/** A Watch has a response and does not end before the caller leaves. */
export const watches: Attack = {
  name: 'watches',
  title: 'grpc.health.v1.Health/Watch, held',
  full: SIZE,
  short: SIZE,
  holdMs: 15_000,
  run: (context) => openCalls(context, { path: '/grpc.health.v1.Health/Watch', message: grpcFrame() }),
};

/** UNAVAILABLE: all slots are taken. The attacker tries again, to take each slot that becomes free. */
const NO_SLOT = 'grpc-status 14';
const AGAIN_MS = 200;
/** A call that has received a message. It may still be open. */
export const ANSWERED = 'answered';

const LIST_PETS = '/petstore.v1.PetService/ListPets';

export const silentCalls: Attack = {
  name: 'silent-calls',
  title: 'PetService/ListPets without a key: headers, and then nothing',
  full: SIZE,
  short: SIZE,
  holdMs: 20_000,
  run: (context) => openCalls(context, { path: LIST_PETS }),
};

export const silentCallsWithMadeUpKeys: Attack = {
  ...silentCalls,
  name: 'silent-calls-made-up-keys',
  title: 'the same, each with another made-up key that has the right checksum',
  run: (context) => openCalls(context, { path: LIST_PETS, makeKey: generateKey }),
};

interface Opening {
  readonly path: string;
  /** Sent after the headers. Without it the call stays open. */
  readonly message?: Buffer;
  readonly makeKey?: () => string;
}

async function openCalls({ target, size, tally, signal }: AttackContext, opening: Opening): Promise<void> {
  await forEachConnection(size, async (index) => {
    const session = await openSession(target, index).catch(() => undefined);
    if (session === undefined) return tally.add('refused connection', 0);
    signal.addEventListener('abort', () => session.destroy());
    const open = () => {
      if (session.destroyed || session.closed) return;
      const end = tally.start();
      const stream = session.request(grpcHeaders(opening.path, opening.makeKey?.()), { endStream: false });
      if (opening.message !== undefined) stream.end(opening.message);
      stream.once('data', () => tally.add(ANSWERED, 0));
      watchEnd(stream, (outcome) => {
        if (signal.aborted) return;
        end(outcome);
        if (outcome === NO_SLOT) setTimeout(open, AGAIN_MS);
      });
    };
    for (let count = 0; count < size.perConnection; count += 1) open();
  });
}

/** Reports the gRPC status of a call, from headers or trailers, or its absence. */
function watchEnd(stream: ClientHttp2Stream, end: (outcome: string) => void): void {
  const seen = (headers: Readonly<Record<string, unknown>>) => {
    const status = headers['grpc-status'];
    if (status !== undefined) end(`grpc-status ${status}`);
    else if (headers[':status'] !== undefined && headers[':status'] !== 200) end(`HTTP ${headers[':status']}`);
  };
  stream.on('response', seen);
  stream.on('trailers', seen);
  stream.on('error', () => undefined);
  stream.on('close', () => end('closed'));
  stream.resume();
}
