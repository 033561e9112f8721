/** Envoy's metrics have the meaning that the alerts and the dashboard rely on. */
import { type ClientHttp2Session, connect } from 'node:http2';
import type { ExecutionContext } from 'ava';
import { CategoryServiceService as Categories } from '../../../gen/petstore/v1/categories.ts';
import { sumOf } from '../../support/exposition.ts';
import { testUnless } from '../../support/programs.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';
import { makeCertificates, noOpenssl } from '../../support/tls.ts';
import { until } from '../../support/until.ts';

interface Context {
  readonly stacks: TestStack[];
  readonly sessions: ClientHttp2Session[];
}
const test = testUnless<Context>(noOpenssl);

const DAYS = 'envoy_server_days_until_first_cert_expiring';
/** Envoy's value without a certificate. */
const NEVER = 2 ** 32 - 1;
/** How long the certificates of these tests are valid. */
const CERTIFICATE_DAYS = 2;

test.beforeEach((t) => {
  t.context = { stacks: [], sessions: [] };
});
test.afterEach.always(async ({ context }) => {
  for (const session of context.sessions) session.destroy();
  for (const stack of context.stacks) await stack.close();
});

async function start(t: ExecutionContext<Context>, settings: Readonly<Record<string, string>> = {}) {
  const stack = await startTestStack(settings);
  t.context.stacks.push(stack);
  return stack;
}

async function statistics({ config }: TestStack): Promise<string> {
  return (await fetch(`http://127.0.0.1:${config.envoyAdminPort}/stats/prometheus`)).text();
}

async function read(stack: TestStack, name: string, labels = {}): Promise<number | undefined> {
  return sumOf(await statistics(stack), name, labels);
}

/** Opens the maximum number of calls on one connection, each with an incomplete message. */
function openCalls({ context }: ExecutionContext<Context>, { publicAddress, key }: TestStack): void {
  const session = connect(`http://${publicAddress}`).on('error', () => undefined);
  context.sessions.push(session);
  const headers = { ':method': 'POST', ':path': Categories.createCategory.path, 'content-type': 'application/grpc' };
  for (let opened = 0; opened < 100; opened += 1) {
    const stream = session.request({ ...headers, te: 'trailers', authorization: `Bearer ${key}` });
    stream.on('error', () => undefined).write(Buffer.from([0, 0, 0, 0, 9, 1]));
  }
}

test('Envoy - counts the calls that it sheds, and no others', async (t) => {
  const stack = await start(t);
  const shed = async () => {
    const [active, pending] = await Promise.all(
      ['active', 'pending'].map((what) =>
        read(stack, `envoy_cluster_upstream_rq_${what}_overflow`, { envoy_cluster_name: 'petstore' }),
      ),
    );
    return (active ?? 0) + (pending ?? 0);
  };
  await stack.rest.category();
  t.is(await shed(), 0);
  await until(async () => {
    for (let connection = 0; connection < 8; connection += 1) openCalls(t, stack);
    return (await shed()) > 0;
  }, 'a shed call');
});

test('Envoy - shows the days until its certificate expires', async (t) => {
  const certificates = await makeCertificates();
  try {
    const tls = { TLS_CERT: certificates.path('server.pem'), TLS_KEY: certificates.path('server-key.pem') };
    const days = (await read(await start(t, tls), DAYS)) ?? NEVER;
    t.true(days <= CERTIFICATE_DAYS, String(days));
  } finally {
    await certificates.remove();
  }
});

test('Envoy - without TLS has no certificate that expires', async (t) => {
  t.is(await read(await start(t), DAYS), NEVER);
});
