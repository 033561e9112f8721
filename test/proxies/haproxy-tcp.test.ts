/** HAProxy as a TCP load balancer: the PROXY protocol, with TLS at the service. */
import { callFrom, type Door, PROTOCOLS } from '../support/calls/callers.ts';
import { makeCertificates, noOpenssl } from '../support/machine/tls.ts';
import { freePorts } from '../support/scope.ts';
import { sharing } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';
import { FEW_REQUESTS, hasOwnAllowance } from './allowances.ts';
import { haproxyTcp } from './proxies.ts';

const test = sharing(haproxyTcp.missing ?? noOpenssl, async (t) => {
  const certificates = await makeCertificates(t);
  const [httpPort = 0] = await freePorts(1);
  const behind = { HTTP_PORT: String(httpPort), PROXY_PROTOCOL: 'yes', TRUSTED_PROXIES: '127.0.0.1' };
  const stack = await startTestStack(t, { ...FEW_REQUESTS, ...behind, ...certificates.publicTls('server') });
  const proxy = await haproxyTcp.start(t, stack.config.port, certificates);
  return { ...stack, httpPort, proxy };
});

for (const [index, protocol] of PROTOCOLS.entries()) {
  test(`HAProxy, PROXY protocol - each caller has its own allowance, over ${protocol}`, async (t) => {
    const addresses = [`127.2.${index + 1}.1`, `127.2.${index + 1}.2`] as const;
    await hasOwnAllowance(t, addresses, t.context.proxy.door, protocol, t.context.key);
  });
}

test('HTTP_PORT - behind the PROXY protocol accepts its header too, from the proxy alone', async (t) => {
  const { config, httpPort } = t.context;
  const door: Door = { port: httpPort, preface: 'PROXY TCP4 203.0.113.1 127.0.0.1 40000 80\r\n' };
  const sent = { path: '/pets?limit=1', headers: { host: 'shop.example' } };
  const { status, headers } = await callFrom('127.0.0.1', door, 'HTTP/1.1', sent);
  t.deepEqual([status, headers.get('location')], [308, `https://shop.example:${config.port}/pets?limit=1`]);
  await t.throwsAsync(callFrom('127.0.0.2', door, 'HTTP/1.1'));
});
