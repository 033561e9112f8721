/** Guessing keys: what it costs the database. On a server in this process, where look-ups can be counted. */
import { status as Code } from '@grpc/grpc-js';
import { PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import { generateKey } from '../../../src/keys/format.ts';
import { startTestServer } from '../server.ts';
import { AS_DEPLOYED } from './experiment.ts';

export interface Guessed {
  /** How many keys the store was asked for. */
  readonly lookUps: number;
  /** How many guesses were answered as such. */
  readonly refused: number;
  /** How many were turned away before. */
  readonly limited: number;
  /** How many guesses an address had while it went on: a minute may have ended meanwhile. */
  readonly allowed: number;
}

/** Sends so many made-up keys with right checksums, all at once or one after another, from one address. */
export async function guessKeys(count: number, isAtOnce: boolean): Promise<Guessed> {
  await using cleanUp = new AsyncDisposableStack();
  const server = await startTestServer({ ADDRESS_PER_MINUTE: AS_DEPLOYED.ADDRESS_PER_MINUTE });
  cleanUp.defer(() => server.close());
  let lookUps = 0;
  const { accounts } = server.store;
  const findKey = accounts.findKey.bind(accounts);
  Object.assign(accounts, {
    findKey: (hash: Buffer) => {
      lookUps += 1;
      return findKey(hash);
    },
  });
  const codes = new Map<Code, number>();
  const guess = async () => {
    const caller = server.grpc.withKey(generateKey());
    const { code } = await caller.failure(Pets.listPets, { ids: [], pageToken: '' });
    caller.close();
    codes.set(code, (codes.get(code) ?? 0) + 1);
  };
  const minute = () => Math.floor(Date.now() / 60_000);
  const first = minute();
  if (isAtOnce) await Promise.all(Array.from({ length: count }, guess));
  else for (let i = 0; i < count; i += 1) await guess();
  return {
    lookUps,
    refused: codes.get(Code.UNAUTHENTICATED) ?? 0,
    limited: codes.get(Code.RESOURCE_EXHAUSTED) ?? 0,
    allowed: Number(AS_DEPLOYED.ADDRESS_PER_MINUTE) * (minute() - first + 1),
  };
}
