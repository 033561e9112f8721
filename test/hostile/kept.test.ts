/** What callers send is not kept: by how many bytes a process has grown after requests have ended. */
import type { OutgoingHttpHeaders } from 'node:http2';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { Http1Connection } from '../support/calls/http1-connection.ts';
import { exchange, type Sending } from '../support/calls/http2.ts';
import { grpcFrame, grpcHeaders, openSession, targetOf } from '../support/calls/sockets.ts';
import type { TestStack } from '../support/service/stack.ts';
import { until } from '../support/until.ts';
import { leftOpen, MIB, pidsOf, rssBytes, usedBytes } from './campaign/memory.ts';
import { AS_DEPLOYED, hostileTest, isFull } from './campaign/service.ts';

const test = hostileTest(AS_DEPLOYED);
/** A key that has used up its limit. */
let usedUp: string;

test.serial.before(async (t) => {
  usedUp = await t.context.operator.keyOf({ perMinute: 1, perDay: 1 });
  await t.context.rest.withKey(usedUp).get('/pets');
});

/** By how much the server uses more after the work. Nothing may be open then. */
async function kept(stack: TestStack, warmUp: () => Promise<unknown>, work: () => Promise<unknown>): Promise<number> {
  await warmUp();
  await leftOpen(stack);
  const before = await usedBytes(stack);
  await work();
  const open = await leftOpen(stack);
  if (open !== undefined) throw new Error(`still open: ${open}`);
  return (await usedBytes(stack)) - before;
}

const [REFUSALS, NAMES, SPELLINGS] = isFull ? [60_000, 6_000, 3_000] : [1_500, 600, 1_500];
/** A kilobyte for each would be 1.5 MiB of the few, and ten times as much of the many. */
const MAX_BYTES = (isFull ? 6 : 1.5) * MIB;
const PER_SESSION = 50; // fewer than the limit of an address
const SESSIONS = 6;

const LIMIT = Buffer.from(Pets.listPets.requestSerialize({ ids: [], limit: 1_000, pageToken: '' }));
const CONNECT = { ':method': 'POST', ':path': Pets.listPets.path, 'content-type': 'application/proto' };
const REST = { ':method': 'POST', ':path': '/categories', 'content-type': 'application/json' };

type Requests = readonly (readonly [headers: OutgoingHttpHeaders, sending: Sending])[];
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
  [
    grpcHeaders(Categories.createCategory.path),
    { body: grpcFrame(Buffer.alloc(70_000)).subarray(0, 1_000), isEnded: false },
  ],
];

let nextAddress = 0;

/** Sends many. Resolves with the HTTP statuses of the responses. */
async function sendMany({ publicAddress }: TestStack, headers: OutgoingHttpHeaders, sending: Sending, count: number) {
  const statuses = new Set<unknown>();
  let left = count;
  const work = async () => {
    while (left > 0) {
      left -= PER_SESSION;
      // Each session has an address of its own, so that no limit of an address is reached.
      nextAddress += 1;
      const address = `127.${16 + (nextAddress >> 16)}.${(nextAddress >> 8) & 255}.${nextAddress & 255}`;
      const session = await openSession(targetOf(publicAddress, address));
      const all = await Promise.all(Array.from({ length: PER_SESSION }, () => exchange(session, headers, sending)));
      session.destroy();
      for (const { status, headers: received } of all) statuses.add(received.get('grpc-status') ?? status);
    }
  };
  await Promise.all(Array.from({ length: SESSIONS }, work));
  return [...statuses];
}

for (const [status, grpcStatus] of [
  [401, '16'],
  [429, '8'],
  [413, '8'],
  [400, '3'],
] as const) {
  test.serial(`Refused - ${REFUSALS} requests with a ${status} over each protocol leave nothing`, async (t) => {
    const key = status === 429 ? usedUp : t.context.key;
    const authorization = status === 401 ? {} : { authorization: `Bearer ${key}` };
    const send = (count: number) => async () => {
      for (const [headers, sending] of status === 413 ? TOO_LARGE : INVALID) {
        const expected = headers['content-type'] === 'application/grpc' ? grpcStatus : status;
        t.deepEqual(await sendMany(t.context, { ...headers, ...authorization }, sending, count), [expected]);
      }
    };
    const bytes = await kept(t.context, send(REFUSALS / 5), send(REFUSALS));
    t.true(bytes < MAX_BYTES, `${bytes} bytes are kept`);
  });
}

const WAVE = 40;
const NAME_BYTES = 60_000;
const WAVE_MS = 5_000;

/** Watches the health of so many unknown services with long names, until their deadline. */
async function watchNames(stack: TestStack, count: number): Promise<void> {
  for (let first = 0; first < count; first += WAVE) {
    const address = `127.0.4.${1 + ((first / WAVE) % 250)}`; // no address sends a flood
    const session = await openSession(targetOf(stack.publicAddress, address));
    const watches = Array.from({ length: WAVE }, (_, index) => {
      const name = Buffer.alloc(NAME_BYTES, `${first + index}-`);
      const length = Buffer.of(0x0a, (NAME_BYTES & 127) | 128, ((NAME_BYTES >> 7) & 127) | 128, NAME_BYTES >> 14);
      const headers = { ...grpcHeaders('/grpc.health.v1.Health/Watch'), 'grpc-timeout': '300m' };
      return exchange(session, headers, { body: grpcFrame(Buffer.concat([length, name])), giveUpMs: WAVE_MS });
    });
    await Promise.all(watches);
    session.destroy();
  }
}

test.serial(`Kept - names of 60 KB in ${NAMES} health watches leave nothing at the server`, async (t) => {
  const watch = (count: number) => () => watchNames(t.context, count);
  const bytes = await kept(t.context, watch(WAVE), watch(NAMES));
  t.true(bytes < (isFull ? 16 : 5) * MIB, `${bytes} bytes are kept`);
});

const SPACES = 20_000;
/** Envoy returns memory to the system every ten seconds. */
const RETURN_MS = 25_000;

test.serial(`Kept - ${SPELLINGS} spellings of one key with 20,000 spaces leave nothing in Envoy`, async (t) => {
  const { envoy } = pidsOf(t.context);
  const connection = new Http1Connection(targetOf(t.context.publicAddress, '127.0.3.2'));
  const send = (spaces: number) => {
    const authorization = `Authorization: Bearer${' '.repeat(spaces)}${t.context.key}`;
    return connection.exchange(Buffer.from(`GET /pets HTTP/1.1\r\nHost: petstore\r\n${authorization}\r\n\r\n`));
  };
  for (let i = 0; i < 100; i += 1) await send(SPACES); // warms it up
  const before = rssBytes(envoy);
  for (let i = 1; i <= SPELLINGS; i += 1) await send(SPACES + i);
  connection.close();
  const growth = () => rssBytes(envoy) - before;
  await until(() => growth() <= (isFull ? 16 : 12) * MIB, 'the memory', RETURN_MS).catch(() => undefined);
  t.true(growth() <= (isFull ? 16 : 12) * MIB, `${growth()} bytes are kept`);
});
