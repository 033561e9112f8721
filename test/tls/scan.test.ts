/** sslscan of the public port, with an EC key and with an RSA key. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findProgram } from '../support/find-program.ts';
import { testUnless } from '../support/programs.ts';
import { startTestStack } from '../support/stack.ts';
import { makeCertificates, noOpenssl } from '../support/tls.ts';

const noSslscan = findProgram(['sslscan']) === undefined ? 'sslscan is not installed' : undefined;
const test = testUnless<undefined>(noOpenssl ?? noSslscan);
const sh = promisify(execFile);

/** Ciphers with forward secrecy and authenticated encryption: all of TLS 1.3, and these of 1.2. */
const MODERN = /^(TLS_|ECDHE-(ECDSA|RSA)-(AES(128|256)-GCM-SHA(256|384)|CHACHA20-POLY1305)$)/;

/** The attributes of every element of a kind. */
function elements(xml: string, name: string): Readonly<Record<string, string>>[] {
  return [...xml.matchAll(new RegExp(`<${name}\\s([^>]*)>`, 'g'))].map(([, attributes = '']) =>
    Object.fromEntries([...attributes.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, key, value]) => [key, value])),
  );
}

for (const [kind, newkey] of [
  ['EC', ['ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']],
  ['RSA', ['rsa:2048']],
] as const) {
  test(`sslscan - finds TLS 1.2 and 1.3 with modern ciphers and nothing else, with an ${kind} key`, async (t) => {
    const certificates = await makeCertificates();
    const [cert, key] = [certificates.path('scanned.pem'), certificates.path('scanned-key.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '90'];
    await sh('openssl', ['req', '-x509', '-newkey', ...newkey, '-nodes', ...subject, '-keyout', key, '-out', cert]);
    const stack = await startTestStack({ TLS_CERT: cert, TLS_KEY: key });
    t.teardown(() => stack.close());
    t.teardown(certificates.remove);
    const target = `localhost:${stack.config.port}`;
    const { stdout } = await sh('sslscan', ['--xml=-', '--show-sigs', '--ipv4', target]);

    const protocols = elements(stdout, 'protocol').filter(({ enabled }) => enabled === '1');
    t.deepEqual(protocols.map(({ type, version }) => `${type} ${version}`).toSorted(), ['tls 1.2', 'tls 1.3']);
    const ciphers = elements(stdout, 'cipher');
    t.true(ciphers.length >= 6);
    for (const { cipher, strength } of ciphers) {
      t.regex(cipher ?? '', MODERN);
      t.true(strength === 'acceptable' || strength === 'strong', `${cipher} is ${strength}`);
    }
    t.deepEqual(elements(stdout, 'renegotiation'), [{ supported: '0', secure: '0' }]);
    t.deepEqual(
      elements(stdout, 'heartbleed').filter(({ vulnerable }) => vulnerable !== '0'),
      [],
    );
    for (const { name } of elements(stdout, 'connection-signature-algorithm')) t.notRegex(name ?? '', /sha1|md5/i);
  });
}
