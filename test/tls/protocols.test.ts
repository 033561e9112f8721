/** The protocols of the public port with a certificate, and what a start says of the files of certificates. */
import { writeFile } from 'node:fs/promises';
import { connect as connectTcp } from 'node:net';
import { type ConnectionOptions, connect as connectTls, type SecureVersion, type TLSSocket } from 'node:tls';
import { redirectListener } from '../../envoy/config/listeners.ts';
import { ConfigError } from '../../src/platform/config/config.ts';
import { readAuthorities, readIdentity } from '../../src/platform/files/tls-files.ts';
import { callFrom } from '../support/calls/callers.ts';
import { http1 } from '../support/calls/wire.ts';
import { isError } from '../support/contract/errors.ts';
import { sh } from '../support/machine/find-program.ts';
import { makeCertificates, noOpenssl } from '../support/machine/tls.ts';
import { freePorts } from '../support/scope.ts';
import { sharing } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';

const test = sharing(noOpenssl, async (t) => {
  const certificates = await makeCertificates(t);
  const [httpPort = 0] = await freePorts(1);
  const stack = await startTestStack(t, { ...certificates.publicTls('server'), HTTP_PORT: String(httpPort) });
  const door = { port: stack.config.port, ca: await certificates.read('ca.pem') };
  return { ...stack, certificates, door, httpPort };
});

test('TLS - versions 1.2 and 1.3 are accepted, and nothing older', async (t) => {
  const { port } = t.context.config;
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const socket = await handshake(port, only(version));
    t.is(socket.getProtocol(), version);
    socket.destroy();
  }
  for (const [version, weak, message] of [
    ['TLSv1', {}, /protocol version/],
    ['TLSv1.1', {}, /protocol version/],
    ['TLSv1.2', { ciphers: 'ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0' }, /handshake failure/],
    ['TLSv1.2', { ciphers: 'ECDHE-ECDSA-AES256-SHA384:@SECLEVEL=0' }, /handshake failure/],
    ['TLSv1.2', { sigalgs: 'ECDSA+SHA1' }, /handshake failure/],
  ] as const) {
    await t.throwsAsync(handshake(port, { ...only(version), ...weak }), { message });
  }
});

/** SECLEVEL=0, because OpenSSL does not offer the old versions by default. */
const only = (version: SecureVersion) => ({
  minVersion: version,
  maxVersion: version,
  ciphers: 'DEFAULT@SECLEVEL=0',
  rejectUnauthorized: false,
});

function handshake(port: number, options: ConnectionOptions): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ port, host: '127.0.0.1', servername: 'localhost', ...options }, () => resolve(socket));
    socket.on('error', reject);
  });
}

test('TLS - idle connections are closed before, during and after the handshake', async (t) => {
  const { port } = t.context.config;
  const silent = connectTcp(port, '127.0.0.1');
  const half = connectTcp(port, '127.0.0.1');
  half.write(Buffer.from([22, 3, 1, 1, 0, 1])); // a ClientHello of 256 bytes begins
  const idle = await handshake(port, { ca: t.context.door.ca });
  const closed = [silent, half, idle].map((socket) => {
    socket.resume().on('error', () => undefined);
    return new Promise((resolve) => socket.once('close', resolve));
  });
  await t.notThrowsAsync(Promise.all(closed));
});

test('HTTP_PORT - redirects all that it gets to HTTPS with 308, and keeps the name, path and query', async (t) => {
  const { config, httpPort, key } = t.context;
  const query = '?status=sold&ids=1&ids=2&x=%2F%20+//';
  for (const method of ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS']) {
    for (const path of [`/pets${query}`, '/', '/healthz', '/docs']) {
      const sent = { method, headers: { authorization: `Bearer ${key}` }, redirect: 'manual' } as const;
      const response = await fetch(`http://localhost:${httpPort}${path}`, sent);
      t.is(response.status, 308, `${method} ${path}`);
      t.is(response.headers.get('location'), `https://localhost:${config.port}${path}`);
      t.is(response.headers.get('strict-transport-security'), null);
      t.is(await response.text(), '');
    }
  }
});

test('HTTP_PORT - a Host that is none, or is given twice, is a 400', async (t) => {
  for (const host of ['Host:', 'Host: a@b', 'Host: :80', 'Host: [::1', 'Host: a:b', 'Host: a\r\nHost: b']) {
    const response = await http1(`127.0.0.1:${t.context.httpPort}`, `GET /pets HTTP/1.1\r\n${host}\r\n\r\n`);
    isError(t, response, 400, 'INVALID_ARGUMENT');
  }
});

test('HTTP_PORT - takes 24 KiB of headers, as the public port', async (t) => {
  const send = (bytes: number) =>
    http1(`127.0.0.1:${t.context.httpPort}`, `GET / HTTP/1.1\r\nHost: petstore\r\nX: ${'x'.repeat(bytes)}\r\n\r\n`);
  t.deepEqual([(await send(23_000)).status, (await send(25_000)).status], [308, 400]);
});

test('HTTP_PORT - a redirect to port 443 names no port', (t) => {
  const listener = JSON.stringify(redirectListener({ ...t.context.config, edgeSecret: '', port: 443 }, 80));
  t.regex(listener, /strip_any_host_port":true/);
  t.notRegex(listener, /port_redirect/);
});

test('HTTP_PORT - HTTPS responses have Strict-Transport-Security', async (t) => {
  for (const path of ['/docs', '/pets', '/']) {
    const { headers } = await callFrom('127.0.0.1', t.context.door, 'HTTP/1.1', { path });
    t.is(headers.get('strict-transport-security'), 'max-age=31536000', path);
  }
});

test('Files - that are missing, no PEM, damaged, no pair or of an unsupported kind are refused', async (t) => {
  const { certificates } = t.context;
  const { folder, path, read, publicTls } = certificates;
  const server = publicTls('server');
  const openssl = (...args: string[]) => sh('openssl', args, { cwd: folder });
  await openssl('ec', '-in', 'server-key.pem', '-aes256', '-passout', 'pass:secret', '-out', 'locked-key.pem');
  const damaged = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
  await writeFile(path('broken-chain.pem'), `${await read('server.pem')}${damaged}`);
  const request = ['req', '-x509', '-nodes', '-days', '2', '-subj', '/CN=localhost'];
  await openssl(...request, '-newkey', 'ed25519', '-keyout', 'ed-key.pem', '-out', 'ed.pem');
  const noKey = 'TLS_KEY must be a PEM file with a private key without a passphrase, and';
  const unsupported = 'TLS_KEY must be an RSA key of 2048 bits or more, or an EC key on P-256, P-384 or P-521:';
  const other = path('client-key.pem');
  for (const [files, line] of [
    [{ TLS_CERT: '/nowhere/cert.pem' }, "TLS_CERT can't be read: ENOENT"],
    [{ TLS_KEY: path('locked-key.pem') }, `${noKey} ${path('locked-key.pem')} is none`],
    [{ TLS_CERT: path('broken-chain.pem') }, 'TLS_CERT must be a PEM file with a certificate and those after it'],
    [{ TLS_KEY: other }, `TLS_KEY is not the key of TLS_CERT: ${other} and ${server.TLS_CERT}`],
    [publicTls('ed'), `${unsupported} ${path('ed-key.pem')} is none`],
  ] as const) {
    const { TLS_CERT: cert, TLS_KEY: key } = { ...server, ...files };
    const refusal = await t.throwsAsync(readIdentity('TLS', { cert, key }), { instanceOf: ConfigError });
    t.is(refusal?.message.slice(0, line.length), line);
  }
});

test('Files - authorities whose last one is cut off are refused, as Envoy would refuse them', async (t) => {
  const [one, other] = await Promise.all(['ca.pem', 'stranger.pem'].map(t.context.certificates.read));
  const ca = t.context.certificates.path('half-written-ca.pem');
  for (const bytes of [60, 300, (other?.length ?? 0) - 10]) {
    await writeFile(ca, `${one}${other?.subarray(0, bytes)}`);
    await t.throwsAsync(readAuthorities({ ca }), { instanceOf: ConfigError, message: /no part of one/ }, `${bytes}`);
  }
  await writeFile(ca, `${one}${other}`);
  await t.notThrowsAsync(readAuthorities({ ca }));
});
