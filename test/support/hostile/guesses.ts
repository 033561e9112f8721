/** What guessing keys costs the database, on a server in this process, whose look-ups are counted. */
import { status as Code } from '@grpc/grpc-js';
import { PetServiceService as Pets } from '../../../gen/petstore/v1/pets.ts';
import { generateKey } from '../../../src/access/keys/format.ts';
import { startTestServer } from '../server.ts';
import { AS_DEPLOYED } from './experiment.ts';

export interface Guessed {
  /** The number of look-ups in the store. */
  readonly lookUps: number;
  /** The number of guesses with the response for unknown keys. */
  readonly refused: number;
  /** The number of guesses that were refused before a look-up. */
  readonly limited: number;
  /** The guesses that one address was allowed, in all minutes of the test. */
  readonly allowed: number;
}

/** Sends made-up keys with valid checksums from one address, concurrently or sequentially. */
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
