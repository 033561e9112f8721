/** Refused requests of each kind, by the thousand. */
import { setTimeout as delay } from 'node:timers/promises';
import { CategoryServiceService as Categories } from '../../../gen/petstore/v1/categories.ts';
import { PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import type { TestStack } from '../stack.ts';
import { type Fields, FrameSession } from './frames.ts';
import { exchange } from './http2.ts';
import { grpcFrame, openSession, targetOf } from './sockets.ts';

export const PROTOCOLS = ['REST', 'gRPC', 'Connect'] as const;
export type Protocol = (typeof PROTOCOLS)[number];
export const STATUSES = [401, 429, 413, 400] as const;
export type Status = (typeof STATUSES)[number];

export interface Callers {
  /** A key that is far from its limits. */
  readonly key: string;
  /** A key that has used them up. */
  readonly usedUp: string;
}

export interface Refused {
  readonly fields: Fields;
  readonly body: Uint8Array;
  readonly isEnded: boolean;
}

const GRPC_STATUS: Readonly<Record<Status, number>> = { 401: 16, 429: 8, 413: 8, 400: 3 };
const TOO_LARGE = 70_000;
const TYPES = { REST: 'application/json', gRPC: 'application/grpc', Connect: 'application/proto' };

/** A request that is refused with the status. Of a body that is too large it has the beginning. */
export function toRefused(protocol: Protocol, status: Status, { key, usedUp }: Callers): Refused {
  const isTooLarge = status === 413;
  const { path } = isTooLarge ? Categories.createCategory : Pets.listPets;
  const isRest = protocol === 'REST';
  const fields = {
    ':method': isRest && !isTooLarge ? 'GET' : 'POST',
    ':scheme': 'http',
    ':authority': 'petstore',
    ':path': isRest ? (isTooLarge ? '/categories' : '/pets?limit=0') : path,
    'content-type': TYPES[protocol],
    ...(protocol === 'Connect' ? { 'connect-protocol-version': '1' } : isRest ? {} : { te: 'trailers' }),
    ...(status === 401 ? {} : { authorization: `Bearer ${status === 429 ? usedUp : key}` }),
    ...(isTooLarge && protocol !== 'gRPC' ? { 'content-length': String(TOO_LARGE) } : {}),
  };
  const body = isTooLarge ? Buffer.alloc(TOO_LARGE) : Pets.listPets.requestSerialize({ ...NO_PETS, limit: 1_000 });
  if (protocol === 'gRPC') return { fields, body: grpcFrame(body).subarray(0, 1_000), isEnded: !isTooLarge };
  return { fields, body: isRest && !isTooLarge ? Buffer.alloc(0) : body.subarray(0, 1_000), isEnded: !isTooLarge };
}

const NO_PETS = { ids: [], pageToken: '' };

/** The HTTP and gRPC status of one. Connect has no status of its own for RESOURCE_EXHAUSTED but 429. */
export function expectedOf(protocol: Protocol, status: Status): { readonly http: number; readonly grpc?: number } {
  if (protocol === 'gRPC') return { http: 200, grpc: GRPC_STATUS[status] };
  return { http: protocol === 'Connect' && status === 413 ? 429 : status };
}

/** Sends one. */
export async function sendOne({ publicAddress }: TestStack, { fields, body, isEnded }: Refused) {
  const session = await openSession(targetOf(publicAddress, '127.0.3.1'));
  const { headers } = await exchange(session, fields, { body, isEnded }).finally(() => session.destroy());
  const grpc = headers['grpc-status'];
  return { http: Number(headers[':status']), ...(grpc === undefined ? {} : { grpc: Number(grpc) }) };
}

const PER_SESSION = 50; // fewer than the limit of an address
const SESSIONS = 6;
const GIVE_UP_MS = 30_000;

let nextAddress = 0;

/** Sends many. Resolves with the number of responses by HTTP status. */
export async function sendMany({ publicAddress }: TestStack, { fields, body, isEnded }: Refused, count: number) {
  const answers: Record<string, number> = {};
  let left = count;
  const work = async () => {
    while (left > 0) {
      left -= PER_SESSION;
      // Each session has an address of its own, so that no limit of an address is reached.
      nextAddress += 1;
      const address = `127.${16 + (nextAddress >> 16)}.${(nextAddress >> 8) & 255}.${nextAddress & 255}`;
      const session = await FrameSession.open(targetOf(publicAddress, address));
      if (session === undefined) throw new Error('the connection was refused');
      const sent = Array.from({ length: PER_SESSION }, () => session.request(fields, { endStream: isEnded, body }));
      const all = Promise.all(sent.map(({ ended }) => ended));
      await Promise.race([all, delay(GIVE_UP_MS, undefined, { ref: false })]);
      session.resetAll();
      for (const outcome of await all) answers[outcome] = (answers[outcome] ?? 0) + 1;
      session.destroy();
    }
  };
  await Promise.all(Array.from({ length: SESSIONS }, work));
  return answers;
}
