/** When Envoy asks the server about a caller (EdgeService.Judge). */
import { once } from 'node:events';
import type { ClientHttp2Session, IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import anyTest, { type TestFn } from 'ava';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { generateKey } from '../../src/platform/access/keys/format.ts';
import { connectOperator } from '../support/calls/operator.ts';
import { openSession, targetOf } from '../support/calls/sockets.ts';
import { statistic } from '../support/service/exposition.ts';
import { withinOneMinute } from '../support/service/limit-windows.ts';
import { startTestStack, type TestStack } from '../support/service/stack.ts';

interface Context extends TestStack {
  /** One connection, so one worker thread of Envoy: each has its own set of known keys. */
  readonly session: ClientHttp2Session;
}

const test = anyTest as TestFn<Context>;

test.before(async (t) => {
  const stack = await startTestStack();
  t.context = { ...stack, session: await openSession(targetOf(stack.publicAddress, '127.0.0.1')) };
});
test.after.always(async ({ context }) => {
  context.session.destroy();
  await context.close();
});

async function statusOf(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body?: string): Promise<number> {
  const stream = session.request({ ':path': '/pets', ...headers }, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  const [response] = (await once(stream, 'response')) as [IncomingHttpHeaders];
  stream.close();
  return Number(response[':status']);
}

/** How many questions Envoy has asked about callers whose key it does not know. */
function questions({ config }: TestStack): Promise<number> {
  return statistic(config.envoyAdminPort, 'cluster.petstore_anonymous.upstream_rq_total');
}

test.serial('Envoy - asks once about an accepted key, in any spelling, and each time about another', async (t) => {
  const { session, key } = t.context;
  const operator = await connectOperator(t.context);
  const limited = (await operator.key((await operator.account({ perMinute: 1, perDay: 10 })).id)).key;
  operator.close();
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
    t.is(await statusOf(session, headers, body), status, about);
    total += asked;
    t.is(await questions(t.context), total, about);
  }
});
