/** Refused requests of each kind, and what the service keeps of them. */
import { setTimeout as delay } from 'node:timers/promises';
import { CategoryServiceService as Categories } from '../../../gen/petstore/v1/categories.ts';
import { PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import type { TestStack } from '../stack.ts';
import { type Fields, FrameSession } from './frames.ts';
import { leftOpen, usedBytes } from './probe.ts';
import { pidsOf, rssBytes } from './resources.ts';
import { grpcFrame, openSession, targetOf } from './sockets.ts';

export const PROTOCOLS = ['REST', 'gRPC', 'Connect'] as const;
type Protocol = (typeof PROTOCOLS)[number];
export const STATUSES = [401, 429, 413, 400] as const;
type Status = (typeof STATUSES)[number];

export interface Refusal {
  readonly protocol: Protocol;
  readonly status: Status;
}

export interface Callers {
  /** A key that is far from its limits. */
  readonly key: string;
  /** A key that has used them up. */
  readonly usedUp: string;
}

interface Sent {
  readonly fields: Fields;
  readonly body: Buffer;
  readonly endStream: boolean;
}

export const GRPC_STATUS: Readonly<Record<Status, number>> = { 401: 16, 429: 8, 413: 8, 400: 3 };
const TOO_LARGE = 70_000;
/** What is sent of a body that is too large. */
const PART = Buffer.alloc(1_000);

function toRequest({ protocol, status }: Refusal, { key, usedUp }: Callers): Sent {
  const authorization: Fields = status === 401 ? {} : { authorization: `Bearer ${status === 429 ? usedUp : key}` };
  const isTooLarge = status === 413;
  const fields = { ':method': 'POST', ':scheme': 'http', ':authority': 'petstore', ...authorization };
  const length: Fields = isTooLarge ? { 'content-length': String(TOO_LARGE) } : {};
  if (protocol === 'REST') {
    if (isTooLarge)
      return half({ ...fields, ...length, ':path': '/categories', 'content-type': 'application/json' }, PART);
    return {
      fields: { ...fields, ':method': 'GET', ':path': '/pets?limit=0' },
      body: Buffer.alloc(0),
      endStream: true,
    };
  }
  const { path } = isTooLarge ? Categories.createCategory : Pets.listPets;
  const message = Pets.listPets.requestSerialize({ ids: [], pageToken: '', limit: 1_000 });
  if (protocol === 'Connect') {
    const call = { ...fields, ':path': path, 'content-type': 'application/proto', 'connect-protocol-version': '1' };
    return isTooLarge ? half({ ...call, ...length }, PART) : { fields: call, body: message, endStream: true };
  }
  const call = { ...fields, ':path': path, 'content-type': 'application/grpc', te: 'trailers' };
  if (!isTooLarge) return { fields: call, body: grpcFrame(message), endStream: true };
  const head = Buffer.alloc(5);
  head.writeUInt32BE(TOO_LARGE, 1);
  return half(call, Buffer.concat([head, PART]));
}

function half(fields: Fields, body: Buffer): Sent {
  return { fields, body, endStream: false };
}

/** The status over HTTP. Connect has none of its own for RESOURCE_EXHAUSTED but 429. */
export function httpStatusOf({ protocol, status }: Refusal): number {
  if (protocol === 'gRPC') return 200;
  return protocol === 'Connect' && status === 413 ? 429 : status;
}

/** Sends one and resolves with its status; on gRPC with its grpc-status. */
export async function statusOf(stack: TestStack, refusal: Refusal, callers: Callers): Promise<number> {
  const { fields, body, endStream } = toRequest(refusal, callers);
  const session = await openSession(targetOf(stack.publicAddress, '127.0.3.1'));
  try {
    const stream = session.request(fields, { endStream: false });
    stream.on('error', () => undefined);
    if (endStream) stream.end(body);
    else stream.write(body);
    const headers = await new Promise<Readonly<Record<string, unknown>>>((resolve, reject) => {
      stream.on('response', resolve).on('close', () => reject(new Error('there is no answer')));
    });
    return Number(headers[refusal.protocol === 'gRPC' ? 'grpc-status' : ':status']);
  } finally {
    session.destroy();
  }
}

export interface Kept {
  /** The number of answers by HTTP status. */
  readonly answers: Readonly<Record<string, number>>;
  /** By how much the server's memory in use has grown, in bytes. */
  readonly usedBytes: number;
  /** By how much the resident memory of each process has grown, in bytes. */
  readonly serverRssBytes: number;
  readonly envoyRssBytes: number;
  readonly leftOpen: string | undefined;
}

const PER_SESSION = 50; // fewer than the limit of an address
const SESSIONS = 6;
const GIVE_UP_MS = 30_000;

interface Flood {
  readonly count: number;
  readonly signal?: AbortSignal | undefined;
}

let nextAddress = 0;

/** Sends `count` of them after a tenth as many, which warm the server up. */
export async function keptOf(
  stack: TestStack,
  refusal: Refusal,
  callers: Callers,
  { count, signal }: Flood,
): Promise<Kept> {
  const request = toRequest(refusal, callers);
  await flood(stack, request, { count: Math.max(500, count / 10), signal });
  const before = await memoryOf(stack);
  const answers = await flood(stack, request, { count, signal });
  const left = await leftOpen(stack);
  const after = await memoryOf(stack);
  return {
    answers,
    usedBytes: after.used - before.used,
    serverRssBytes: after.server - before.server,
    envoyRssBytes: after.envoy - before.envoy,
    leftOpen: left,
  };
}

async function memoryOf(stack: TestStack) {
  const { envoy, server } = pidsOf(stack);
  return { used: await usedBytes(stack), envoy: rssBytes(envoy), server: rssBytes(server) };
}

async function flood(stack: TestStack, { fields, body, endStream }: Sent, { count, signal }: Flood) {
  const answers: Record<string, number> = {};
  let left = count;
  const work = async () => {
    while (left > 0) {
      signal?.throwIfAborted();
      left -= PER_SESSION;
      // Each session has an address of its own, so that no limit of an address is reached.
      nextAddress += 1;
      const address = `127.${16 + (nextAddress >> 16)}.${(nextAddress >> 8) & 255}.${nextAddress & 255}`;
      const session = await FrameSession.open(targetOf(stack.publicAddress, address));
      if (session === undefined) throw new Error('the connection was refused');
      const sent = Array.from({ length: PER_SESSION }, () => session.request(fields, { endStream, body }).ended);
      const late = delay(GIVE_UP_MS, undefined, { ref: false }).then(() => session.resetAll());
      for (const outcome of await Promise.race([Promise.all(sent), late.then(() => Promise.all(sent))])) {
        answers[outcome] = (answers[outcome] ?? 0) + 1;
      }
      session.destroy();
    }
  };
  await Promise.all(Array.from({ length: SESSIONS }, work));
  return answers;
}
