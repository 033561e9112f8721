/** What callers send is not kept: by how many bytes a process has grown after requests have ended. */
import type { OutgoingHttpHeaders } from 'node:http2';
import { HealthService } from '../../gen/grpc/health/v1/health.ts';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { exchange, grpcFrame, grpcHeaders, openSession, type Sending, targetOf } from '../support/calls/http2.ts';
import type { TestStack } from '../support/service/stack.ts';
import { hostileTest, isFull, leftOpen, MIB, PROBED, usedBytes } from './campaign/service.ts';

const test = hostileTest({ ...PROBED, LOG_LEVEL: 'info' });
/** A key that has used up its limit. */
let usedUp: string;

test.serial.before(async (t) => {
  usedUp = await t.context.operator.keyOf({ perMinute: 1, perDay: 1 });
  await t.context.rest.withKey(usedUp).get('/pets');
});

const REFUSALS = isFull ? 60_000 : 1_500;
/** A kilobyte for each would be 1.5 MiB of the few, and ten times as much of the many. */
const MAX_BYTES = (isFull ? 6 : 1.5) * MIB;
const BATCH = 50;

const LIMIT = Buffer.from(Pets.listPets.requestSerialize({ ids: [], limit: 1_000, pageToken: '' }));
const CONNECT = { ':method': 'POST', ':path': Pets.listPets.path, 'content-type': 'application/proto' };
const REST = { ':method': 'POST', ':path': '/categories', 'content-type': 'application/json' };
const CREATE = grpcHeaders(Categories.createCategory.path);

type Requests = readonly (readonly [headers: OutgoingHttpHeaders, sending: Sending | (() => Sending)])[];
/** A request over each protocol whose limit is wrong. */
const INVALID: Requests = [
  [{ ':path': '/pets?limit=0' }, {}],
  [grpcHeaders(Pets.listPets.path), { body: grpcFrame(LIMIT) }],
  [CONNECT, { body: LIMIT }],
];
/** The beginning of a body that is too large. */
const TOO_LARGE: Requests = [
  [
    { ...REST, 'content-length': '70000' },
    { body: Buffer.alloc(1_000), isEnded: false },
  ],
  [CREATE, { body: grpcFrame(Buffer.alloc(70_000)).subarray(0, 1_000), isEnded: false }],
];

/** A busy machine may keep a server from its health checks. It accepts no calls then. */
const UNAVAILABLE: readonly unknown[] = [503, '14'];

/** Sends many, some at once, each time on a new connection. Resolves with the gRPC or HTTP statuses. */
async function sendMany({ publicAddress }: TestStack, [headers, sending]: Requests[number], count: number) {
  const statuses = new Set<unknown>();
  const next = () => (typeof sending === 'function' ? sending() : sending);
  for (let sent = 0; sent < count; sent += BATCH) {
    const session = await openSession(targetOf(publicAddress, '127.0.0.9'));
    const all = await Promise.all(Array.from({ length: BATCH }, () => exchange(session, headers, next())));
    session.destroy();
    for (const one of all) statuses.add(one.headers.get('grpc-status') ?? one.status);
  }
  return [...statuses].filter((status) => !UNAVAILABLE.includes(status));
}

let names = 0;
/** A health watch of a service with a long name, until its deadline. */
const watchName = () => {
  names += 1;
  const service = `${names}-`.padEnd(1_000, 'x'); // equal ones may be kept as one
  return { body: grpcFrame(HealthService.watch.requestSerialize({ service })), giveUpMs: 5_000 };
};
const WATCHES: Requests = [[{ ...grpcHeaders(HealthService.watch.path), 'grpc-timeout': '300m' }, watchName]];

for (const [title, requests, status, grpcStatus] of [
  ['with a 401 over each protocol', INVALID, 401, '16'],
  ['with a 429 over each protocol', INVALID, 429, '8'],
  ['with a 413 over each protocol', TOO_LARGE, 413, '8'],
  ['with a 400 over each protocol', INVALID, 400, '3'],
  ['that watch the health of a long name', WATCHES, 504, '4'],
] as const) {
  test.serial(`Kept - ${REFUSALS} requests ${title} leave nothing`, async (t) => {
    const key = status === 429 ? usedUp : t.context.key;
    const authorization = status === 401 ? {} : { authorization: `Bearer ${key}` };
    const send = async (count: number) => {
      for (const [headers, sending] of requests) {
        const expected = headers['content-type'] === 'application/grpc' ? grpcStatus : status;
        t.deepEqual(await sendMany(t.context, [{ ...headers, ...authorization }, sending], count), [expected]);
      }
      t.is(await leftOpen(t.context), undefined);
      return usedBytes(t.context);
    };
    const before = await send(REFUSALS / 5);
    const bytes = (await send(REFUSALS)) - before;
    t.true(bytes < MAX_BYTES, `${bytes} bytes are kept`);
  });
}
