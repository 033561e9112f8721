/** Callers behind one address. */
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { call } from '../support/calls/connect-client.ts';
import { GrpcCaller } from '../support/calls/grpc-caller.ts';
import { withinOneMinute } from '../support/service/limit-windows.ts';
import { AS_DEPLOYED, hostileTest } from './campaign/service.ts';

const test = hostileTest({ ...AS_DEPLOYED, TRUSTED_PROXIES: '127.0.0.1' });

const OVER_THE_LIMIT = Number(AS_DEPLOYED.ADDRESS_PER_MINUTE) + 2;
const FROM = { headers: { 'x-forwarded-for': '8.8.8.8' } };

test.serial('Neighbours - requests of one address without a key lock no new, valid key out', async (t) => {
  const { rest, operator, publicAddress } = t.context;
  const { id } = await operator.account({ perMinute: 1_000, perDay: 1_000 });
  const newKey = async () => (await operator.key(id)).key;
  await withinOneMinute(20_000);
  const keyless = rest.withKey(undefined);
  const noise = [];
  for (let i = 0; i < OVER_THE_LIMIT; i += 1) noise.push((await keyless.get('/pets', FROM)).status);
  t.is(noise.at(-1), 429, 'the noise is over the limit');

  t.is((await rest.withKey(await newKey()).get('/pets', FROM)).status, 200, 'REST');
  const grpc = new GrpcCaller(publicAddress, await newKey());
  const asked = { ids: [], pageToken: '' };
  await t.notThrowsAsync(grpc.call(Pets.listPets, asked, { metadata: FROM.headers }), 'gRPC');
  grpc.close();
  const { path, requestSerialize } = Categories.listCategories;
  const message = requestSerialize({ pageToken: '' });
  t.is((await call({ rest, key: await newKey() }, path, message, FROM.headers)).status, 200, 'Connect');
});
