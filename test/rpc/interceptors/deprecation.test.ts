import test from 'ava';
import { restProtocol } from '../../../src/platform/rest/responses.ts';
import { deprecation } from '../../../src/platform/rpc/interceptors/deprecation.ts';
import { handler, newCall, RESPONSE } from '../../support/service/call.ts';

test('Deprecation - its link and the link to the next page of a list both stay', async (t) => {
  const call = newCall('PetService/ListPets', { metadata: { 'x-envoy-original-path': '/pets' } });
  const { deprecation: announced } = newCall('PetService/GetPet').operation;
  if (announced === undefined) return t.fail();
  const operation = { ...call.operation, deprecation: { ...announced, successorOf: () => '/new' } }; // none is a list
  const response = { ...RESPONSE, message: { pets: [], nextPageToken: 'abc' } };
  await deprecation(Object.assign(call, { operation }), handler(response).next);
  restProtocol([operation]).render(call, response);
  t.is(call.responseHeaders.get('link'), '</new>; rel="successor-version", </pets?pageToken=abc>; rel="next"');
});
