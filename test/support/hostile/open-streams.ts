/** Streams that are opened and not finished, by the thousand: a caller who waits for nothing, and pays nothing. */
import { type Attack, type AttackContext, forEachConnection } from './attack.ts';
import type { Bounds } from './bounds.ts';
import { type Fields, FrameSession } from './frames.ts';

const get = (path: string): Fields => ({
  ':method': 'GET',
  ':scheme': 'http',
  ':path': path,
  ':authority': 'petstore',
});
const grpc = (path: string): Fields => ({
  ...get(path),
  ':method': 'POST',
  'content-type': 'application/grpc',
  te: 'trailers',
});
/** 99 % of the requests of a caller with a key are served within a second. */
const SERVED: Bounds = { maxShedShare: 0.01, maxP99Ms: 1_000 };

const CHECK = '/grpc.health.v1.Health/Check';
const LIST_PETS = '/petstore.v1.PetService/ListPets';

interface Opening {
  readonly requests: readonly Fields[];
  /** Whether the requests are complete. */
  readonly endStream?: boolean;
  /** After this time streams that have ended are opened again. */
  readonly againMs?: number;
  /** Whether those that have not ended are given up by then. */
  readonly givesUp?: boolean;
  readonly hasKey?: boolean;
}

async function openStreams({ target, size, tally, signal, key }: AttackContext, opening: Opening): Promise<void> {
  const { endStream = false, againMs, givesUp = false, hasKey = false } = opening;
  const own = hasKey ? { authorization: `Bearer ${key}` } : {};
  await forEachConnection(size, async (index) => {
    const session = await FrameSession.open(target, index);
    if (session === undefined) return tally.add('refused connection', 0);
    // Envoy knows a key after its first request on each of its threads.
    if (hasKey) await session.request({ ...get('/pets'), ...own }, { endStream: true }).ended;
    const send = () => {
      if (givesUp) session.resetAll();
      for (let i = session.openStreams; i < Math.min(size.perConnection, session.maxStreams); i += 1) {
        const end = tally.start();
        const { ended } = session.request({ ...opening.requests[i % opening.requests.length], ...own }, { endStream });
        void ended.then((outcome) => signal.aborted || end(outcome));
      }
    };
    send();
    const timer = againMs === undefined ? undefined : setInterval(send, againMs);
    signal.addEventListener('abort', () => {
      clearInterval(timer);
      session.destroy();
    });
  });
}

export const bodilessGets: Attack = {
  name: 'bodiless-gets',
  title: 'GET /pets without the end of the request, and again every 5 s',
  full: { connections: 150, perConnection: 100 },
  short: { connections: 20, perConnection: 100 },
  holdMs: 20_000,
  bounds: SERVED,
  run: (context) => openStreams(context, { requests: [get('/pets')], againMs: 5_000, givesUp: true }),
};

export const silentChecks: Attack = {
  name: 'silent-checks',
  title: 'Health/Check: headers, and then nothing',
  full: { connections: 180, perConnection: 100 },
  short: { connections: 20, perConnection: 100 },
  holdMs: 20_000,
  bounds: SERVED,
  run: (context) => openStreams(context, { requests: [grpc(CHECK)] }),
};

/** As many connections as the listener accepts, but for the bystanders', with all the streams that each may have. */
export const allStreams: Attack = {
  name: 'all-streams',
  title: 'GET, Health/Check and ListPets without a key and without an end, on all that the listener accepts',
  full: { connections: 9_900, perConnection: 100 },
  short: { connections: 100, perConnection: 100 },
  holdMs: 30_000,
  bounds: SERVED,
  run: (context) => openStreams(context, { requests: [get('/pets'), grpc(CHECK), grpc(LIST_PETS)] }),
};

export const healthCrowd: Attack = {
  name: 'health-crowd',
  title: 'GET /healthz, again and again',
  full: { connections: 10, perConnection: 100 },
  short: { connections: 10, perConnection: 100 },
  holdMs: 15_000,
  bounds: SERVED,
  run: (context) => openStreams(context, { requests: [get('/healthz')], endStream: true, againMs: 50 }),
};

export const silentCallsWithKey: Attack = {
  name: 'silent-calls-with-key',
  title: 'PetService/ListPets with the key of one account: headers, and then nothing',
  full: { connections: 10, perConnection: 97 },
  short: { connections: 10, perConnection: 97 },
  holdMs: 15_000,
  bounds: SERVED,
  run: (context) => openStreams(context, { requests: [grpc(LIST_PETS)], hasKey: true }),
};
