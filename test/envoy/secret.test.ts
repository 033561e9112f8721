/** EDGE_SECRET in Envoy's configuration. */
import test from 'ava';
import { startTestStack } from '../support/service/stack.ts';

test("EDGE_SECRET - may have what means something in Envoy's configuration and in Lua", async (t) => {
  const stack = await startTestStack({ EDGE_SECRET: `%%100%REQ(X)%"\\'{{}}[[]]` });
  t.teardown(() => stack.close());
  t.deepEqual((await stack.rest.get('/pets')).body, []); // only to an edge does the server speak REST
  t.is((await stack.rest.withKey('none').get('/pets')).status, 401); // Envoy has asked
});
