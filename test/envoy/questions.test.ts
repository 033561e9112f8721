/** When Envoy asks the server about a caller (EdgeService.Judge), and what it tells of that. */
import type { OutgoingHttpHeaders } from 'node:http2';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { generateKey } from '../../src/platform/access/keys/format.ts';
import { exchange } from '../support/calls/http2.ts';
import { openSession, targetOf } from '../support/calls/sockets.ts';
import { statistic } from '../support/service/exposition.ts';
import { withinOneMinute } from '../support/service/limit-windows.ts';
import { stackTest } from '../support/service/shared-stack.ts';
import type { TestStack } from '../support/service/stack.ts';

/** The secret has what means something in Envoy's configuration and in Lua. Without it the server speaks no REST. */
const test = stackTest({ EDGE_SECRET: `%%100%REQ(X)%"\\'{{}}[[]]` });

/** How many questions Envoy has asked about callers whose key it does not know. */
function questions({ config }: TestStack): Promise<number> {
  return statistic(config.envoyAdminPort, 'cluster.petstore_anonymous.upstream_rq_total');
}

test.serial('Envoy - asks once about an accepted key, in any spelling, and each time about another', async (t) => {
  const { publicAddress, key, operator } = t.context;
  const limited = await operator.keyOf({ perMinute: 1, perDay: 10 });
  // One connection, so one worker thread of Envoy: each has its own set of known keys.
  const session = await openSession(targetOf(publicAddress, '127.0.0.1'));
  t.teardown(() => session.destroy());
  const json = { ':method': 'POST', 'content-type': 'application/json' };
  const grpc = { ...json, ':path': Pets.listPets.path, 'content-type': 'application/grpc' };
  const unknown = generateKey();
  await withinOneMinute(5_000);
  const steps: readonly [headers: OutgoingHttpHeaders, status: number, asked: number, body?: string][] = [
    [{ ':path': '/pets?x', authorization: `bearer  ${key}`, 'x-petstore-edge': 'x' }, 400, 1],
    [{ authorization: `Bearer ${key}` }, 200, 0],
    [{ ...json, authorization: `BEARER ${key}` }, 400, 0, '{}'],
    [{ ...grpc, authorization: `Bearer ${key}`, 'x-petstore-anonymous': '1' }, 200, 0, '\0'.repeat(5)],
    [{ authorization: `Bearer ${limited}` }, 200, 1],
    [{ authorization: `Bearer ${limited}` }, 429, 0],
    [{ authorization: `Bearer ${unknown}` }, 401, 1],
    [{ authorization: `Bearer ${unknown}` }, 401, 1],
    [{ ...json }, 401, 1, '{}'],
    [{ ':path': '/healthz' }, 200, 0],
    [{ ':path': '/docs?x=1', ':method': 'HEAD' }, 200, 0],
    [{ ':path': '/healthz', 'content-length': '2' }, 401, 1, '{}'],
    [{ ':path': '/docs', ':method': 'POST' }, 401, 1],
  ];
  let total = await questions(t.context);
  for (const [headers, status, asked, body] of steps) {
    const about = `${headers[':method'] ?? 'GET'} ${headers[':path']} ${headers.authorization?.slice(0, 12)}`;
    const sent = { body: body === undefined ? undefined : Buffer.from(body) };
    t.is((await exchange(session, { ':path': '/pets', ...headers }, sent)).status, status, about);
    total += asked;
    t.is(await questions(t.context), total, about);
  }
});
