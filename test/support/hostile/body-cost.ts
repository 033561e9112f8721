/** The CPU time of a request with a body and without a valid key, compared with a plain GET without one. */
import { setTimeout as delay } from 'node:timers/promises';
import { generateKey } from '../../../src/access/keys/format.ts';
import { median } from '../numbers.ts';
import type { TestStack } from '../stack.ts';
import { Http1Connection } from './http1-connection.ts';
import { exchange } from './http2.ts';
import { pidsOf, serviceCpuUs } from './resources.ts';
import { grpcFrame, grpcHeaders, openSession, targetOf } from './sockets.ts';

const KIB = 1_024;

/** Bodies that are expensive to parse: of the largest size that is allowed, and far larger. */
export const HEAVY_BODIES: Readonly<Record<string, Buffer>> = {
  'many numbers': Buffer.from(`[${'1,'.repeat(32 * KIB - 1)}1`),
  'deep nesting': Buffer.from('['.repeat(32 * KIB) + ']'.repeat(32 * KIB)),
  'bytes that are no text': Buffer.alloc(64 * KIB, 0xff),
  'a mebibyte of numbers': Buffer.from(`[${'1,'.repeat(512 * KIB - 1)}1`),
};

export const TRANSPORTS = ['kept connections', 'new connections', 'HTTP/2', 'gRPC', 'Connect'] as const;
type Transport = (typeof TRANSPORTS)[number];

export interface Costs {
  readonly getUs: number;
  readonly postUs: number;
  /** The cost of a POST as a multiple of a GET. */
  readonly ratio: number;
  /** The statuses of the responses to the POST. */
  readonly statuses: ReadonlySet<string>;
}

const PER_ROUND = 15;
/** Work after the response is counted too. */
const AFTERMATH_MS = 30;

/** The most that a request of an anonymous caller may cost, as a multiple of a GET. */
export const MAX_RATIO = 2;

/** Measures again for longer when the cost is too high: other programs disturb a short measurement. */
export async function settledCosts(stack: TestStack, transport: Transport, body: Buffer): Promise<Costs> {
  const costs = await measureCosts(stack, transport, body, 3);
  return costs.ratio <= MAX_RATIO ? costs : measureCosts(stack, transport, body, 9);
}

/** Alternates between both, so that other programs disturb both alike. */
async function measureCosts(stack: TestStack, transport: Transport, body: Buffer, rounds: number): Promise<Costs> {
  const pids = pidsOf(stack);
  const { get, post, close } = await open(stack, transport, body);
  const statuses = new Set<string>();
  const run = async (send: () => Promise<unknown>, count = PER_ROUND): Promise<number> => {
    const beforeUs = serviceCpuUs(pids);
    for (let i = 0; i < count; i += 1) await send();
    await delay(AFTERMATH_MS);
    return (serviceCpuUs(pids) - beforeUs) / count;
  };
  const postOnce = async () => statuses.add(await post());
  try {
    await run(get); // warms up
    await run(postOnce, 4);
    const pairs: { get: number; post: number }[] = [];
    for (let round = 0; round < rounds; round += 1) pairs.push({ get: await run(get), post: await run(postOnce) });
    return {
      getUs: median(pairs.map((pair) => pair.get)),
      postUs: median(pairs.map((pair) => pair.post)),
      ratio: median(pairs.map((pair) => pair.post / pair.get)),
      statuses,
    };
  } finally {
    close();
  }
}

/** A caller with one request at a time. Each POST has a made-up key with a valid checksum. */
async function open({ publicAddress }: TestStack, transport: Transport, body: Buffer) {
  const target = targetOf(publicAddress, '127.0.0.2');
  const path = transport === 'gRPC' || transport === 'Connect' ? '/petstore.v1.PetService/CreatePet' : '/pets';
  const type = transport === 'Connect' ? 'application/proto' : 'application/json';
  if (transport === 'HTTP/2' || transport === 'gRPC') {
    const session = await openSession(target);
    const send = async (headers: Parameters<typeof exchange>[1], sent?: Buffer) => {
      const { headers: received } = await exchange(session, headers, { body: sent });
      return received['grpc-status'] === undefined
        ? `${received[':status']}`
        : `grpc-status ${received['grpc-status']}`;
    };
    const rest = () => ({ ':method': 'POST', ':path': path, 'content-type': type, authorization: bearer() });
    const post = () =>
      transport === 'gRPC' ? send(grpcHeaders(path, generateKey()), grpcFrame(body)) : send(rest(), body);
    return { get: () => send({ ':path': '/pets' }), post, close: () => session.destroy() };
  }
  const connection = new Http1Connection(target);
  const send = async (head: string, sent: Uint8Array = Buffer.alloc(0)) => {
    const answer = await connection.exchange(Buffer.concat([Buffer.from(`${head}\r\n`), sent]));
    if (transport === 'new connections') connection.close();
    return typeof answer === 'string' ? answer : `${answer.status}`;
  };
  const headers = () => `Content-Type: ${type}\r\nContent-Length: ${body.length}\r\nAuthorization: ${bearer()}\r\n`;
  return {
    get: () => send('GET /pets HTTP/1.1\r\nHost: petstore\r\n'),
    post: () => send(`POST ${path} HTTP/1.1\r\nHost: petstore\r\n${headers()}`, body),
    close: () => connection.close(),
  };
}

const bearer = () => `Bearer ${generateKey()}`;
