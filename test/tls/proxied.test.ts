/** TLS that a load balancer passes through, with the PROXY protocol before it. */
import { exceedsLimit, FEW_REQUESTS, isFirst } from '../support/allowances.ts';
import { callFrom, PROTOCOLS } from '../support/callers.ts';
import { freePorts } from '../support/ports.ts';
import { testUnless } from '../support/programs.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { type Certificates, makeCertificates, noOpenssl } from '../support/tls.ts';

type Context = TestStack & { readonly certificates: Certificates; readonly ca: Buffer; readonly httpPort: number };

const test = testUnless<Context>(noOpenssl);

const PROXY = '127.0.0.2';
const caller = (number: number) => `PROXY TCP4 203.0.113.${number} 127.0.0.1 40000 443\r\n`;

test.before(async (t) => {
  const certificates = await makeCertificates();
  const [httpPort = 0] = await freePorts(1);
  const tls = { TLS_CERT: certificates.path('server.pem'), TLS_KEY: certificates.path('server-key.pem') };
  const proxies = { PROXY_PROTOCOL: 'yes', TRUSTED_PROXIES: PROXY };
  const stack = await startTestStack({ ...FEW_REQUESTS, ...tls, ...proxies, HTTP_PORT: String(httpPort) });
  t.context = { ...stack, certificates, ca: await certificates.read('ca.pem'), httpPort };
});
test.after.always(async ({ context }) => {
  await context.close();
  await context.certificates.remove();
});

for (const [index, protocol] of PROTOCOLS.entries()) {
  test(`PROXY protocol and TLS - each caller has its own allowance, over ${protocol}`, async (t) => {
    const { config, ca } = t.context;
    const send = (number: number) =>
      callFrom(PROXY, { port: config.port, ca, preface: caller(2 * index + number) }, protocol);
    t.true(isFirst(await send(1)));
    t.true(await exceedsLimit(() => send(1)));
    t.true(isFirst(await send(2)));
  });
}

test('PROXY protocol and TLS - only the proxy gets a handshake', async (t) => {
  const door = { port: t.context.config.port, ca: t.context.ca };
  await t.throwsAsync(callFrom('127.0.0.3', { ...door, preface: caller(99) }, 'HTTP/1.1'));
  await t.throwsAsync(callFrom('127.0.0.3', door, 'HTTP/1.1'));
});

test('PROXY protocol and TLS - HTTP_PORT accepts the header too', async (t) => {
  const { config, httpPort } = t.context;
  const sent = { path: '/pets?limit=1', headers: { host: 'shop.example' } };
  const { status, headers } = await callFrom(PROXY, { port: httpPort, preface: caller(98) }, 'HTTP/1.1', sent);
  t.is(status, 308);
  t.is(headers.get('location'), `https://shop.example:${config.port}/pets?limit=1`);
  await t.throwsAsync(callFrom('127.0.0.3', { port: httpPort, preface: caller(97) }, 'HTTP/1.1'));
});
