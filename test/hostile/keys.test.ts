/** What guessing keys costs the database, on a server in this process, whose look-ups are counted. */
import { status as Code } from '@grpc/grpc-js';
import test from 'ava';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { generateKey } from '../../src/platform/access/keys/format.ts';
import { startTestServer } from '../support/service/server.ts';

const GUESSES = 1_000;
const PER_MINUTE = 60;

test('Keys - of 1000 guesses from one address, one after another, at most a minute’s limit is looked up', async (t) => {
  const server = await startTestServer(t, { ADDRESS_PER_MINUTE: String(PER_MINUTE) });
  let lookUps = 0;
  const { accounts } = server.store;
  const findKey = accounts.findKey.bind(accounts);
  Object.assign(accounts, {
    findKey: (hash: Buffer) => {
      lookUps += 1;
      return findKey(hash);
    },
  });
  const guess = async () => {
    const caller = server.grpc.withKey(generateKey());
    const { code } = await caller.failure(Pets.listPets, { ids: [], pageToken: '' });
    caller.close();
    return code;
  };
  const minute = () => Math.floor(Date.now() / 60_000);
  const first = minute();
  const codes: Code[] = [];
  for (let i = 0; i < GUESSES; i += 1) codes.push(await guess());
  const allowed = PER_MINUTE * (minute() - first + 1);
  const refused = codes.filter((code) => code === Code.UNAUTHENTICATED).length;
  t.is(codes.filter((code) => code === Code.RESOURCE_EXHAUSTED).length, GUESSES - refused);
  t.true(refused > 0 && refused <= allowed, `${refused} were answered as guesses`);
  t.true(lookUps > 0 && lookUps <= allowed, `${lookUps} look-ups`);
});
