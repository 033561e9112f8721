import test from 'ava';
import { restProtocol } from '../../../src/edge/rest-protocol.ts';
import { deprecation } from '../../../src/rpc/interceptors/deprecation.ts';
import { handler, newCall, RESPONSE } from '../../support/call.ts';

test('Deprecation - its link and the link to the next page of a list both stay', async (t) => {
  const call = newCall('PetService/ListPets', { metadata: { 'x-envoy-original-path': '/pets' } });
  const announced = { since: new Date(0), sunset: new Date(1_000), successor: '/new', successorOf: () => '/new' };
  const operation = { ...call.operation, deprecation: announced }; // no deprecated one is a list
  const response = { ...RESPONSE, message: { pets: [], nextPageToken: 'abc' } };
  await deprecation(Object.assign(call, { operation }), handler(response).next);
  restProtocol([operation]).respond(call, response);
  t.is(call.responseHeaders.get('link'), '</new>; rel="successor-version", </pets?pageToken=abc>; rel="next"');
});
