/** Envoy's metrics have the meaning that the alerts and the dashboard rely on. */
import { type ClientHttp2Session, connect } from 'node:http2';
import { CategoryServiceService as Categories } from '../../../gen/petstore/v1/categories.ts';
import { sumOf } from '../../support/exposition.ts';
import { testUnless } from '../../support/programs.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';
import { makeCertificates, noOpenssl } from '../../support/tls.ts';
import { until } from '../../support/until.ts';

const test = testUnless<TestStack>(noOpenssl);

test.before(async (t) => {
  t.context = await startTestStack();
});
test.after.always(({ context }) => context.close());

const DAYS = 'envoy_server_days_until_first_cert_expiring';
/** Envoy's value without a certificate. */
const NEVER = 2 ** 32 - 1;
/** How long the certificates of these tests are valid. */
const CERTIFICATE_DAYS = 2;

async function read({ config }: TestStack, name: string, labels = {}): Promise<number> {
  const statistics = await fetch(`http://127.0.0.1:${config.envoyAdminPort}/stats/prometheus`);
  return sumOf(await statistics.text(), name, labels) ?? 0;
}

/** Opens the maximum number of calls on one connection, each with an incomplete message. */
function openCalls({ publicAddress, key }: TestStack): ClientHttp2Session {
  const session = connect(`http://${publicAddress}`).on('error', () => undefined);
  const headers = { ':method': 'POST', ':path': Categories.createCategory.path, 'content-type': 'application/grpc' };
  for (let opened = 0; opened < 100; opened += 1) {
    const stream = session.request({ ...headers, te: 'trailers', authorization: `Bearer ${key}` });
    stream.on('error', () => undefined).write(Buffer.from([0, 0, 0, 0, 9, 1]));
  }
  return session;
}

test('Envoy - counts the calls that it sheds, and no others', async (t) => {
  const labels = { envoy_cluster_name: 'petstore' };
  const overflows = ['active', 'pending'].map((what) => `envoy_cluster_upstream_rq_${what}_overflow`);
  const shed = async () => {
    const [active = 0, pending = 0] = await Promise.all(overflows.map((name) => read(t.context, name, labels)));
    return active + pending;
  };
  await t.context.rest.category();
  t.is(await shed(), 0);
  const sessions: ClientHttp2Session[] = [];
  await until(async () => {
    for (let connection = 0; connection < 8; connection += 1) sessions.push(openCalls(t.context));
    return (await shed()) > 0;
  }, 'a shed call');
  for (const session of sessions) session.destroy();
});

test('Envoy - shows the days until its certificate expires; without one it never does', async (t) => {
  const certificates = await makeCertificates();
  t.teardown(certificates.remove);
  const tls = { TLS_CERT: certificates.path('server.pem'), TLS_KEY: certificates.path('server-key.pem') };
  const secured = await startTestStack(tls);
  t.teardown(secured.close);
  const days = await read(secured, DAYS);
  t.true(days > 0 && days <= CERTIFICATE_DAYS, String(days));
  t.is(await read(t.context, DAYS), NEVER);
});
