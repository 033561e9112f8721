/** What a start says of the files of certificates. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { ConfigError } from '../../src/platform/config/config.ts';
import { readAuthorities, readIdentity } from '../../src/platform/files/tls-files.ts';
import { makeCertificates, noOpenssl } from '../support/machine/tls.ts';
import { type SharedBy, sharing } from '../support/service/sharing.ts';

const test = sharing(noOpenssl, makeCertificates);
const sh = promisify(execFile);

const tls = ({ path }: SharedBy<typeof test>, name: string) => ({
  TLS_CERT: path(`${name}.pem`),
  TLS_KEY: path(`${name}-key.pem`),
});

/** What a start says of the files; empty if nothing. */
async function refusalOf({ TLS_CERT, TLS_KEY }: ReturnType<typeof tls>): Promise<string> {
  try {
    await readIdentity('TLS', { cert: TLS_CERT, key: TLS_KEY });
    return '';
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}

test('Files - that are missing, no PEM, damaged, no pair or of an unsupported kind are refused', async (t) => {
  const { folder, path, read } = t.context;
  const server = tls(t.context, 'server');
  const openssl = (...args: string[]) => sh('openssl', args, { cwd: folder });
  await openssl('ec', '-in', 'server-key.pem', '-aes256', '-passout', 'pass:secret', '-out', 'locked-key.pem');
  const damaged = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
  await writeFile(path('broken-chain.pem'), `${await read('server.pem')}${damaged}`);
  await sh('mkfifo', [path('pipe')]);
  const request = ['req', '-x509', '-nodes', '-days', '2', '-subj', '/CN=localhost'];
  await openssl(...request, '-newkey', 'ed25519', '-keyout', 'ed-key.pem', '-out', 'ed.pem');
  const noKey = 'TLS_KEY must be a PEM file with a private key without a passphrase, and';
  const unsupported = 'TLS_KEY must be an RSA key of 2048 bits or more, or an EC key on P-256, P-384 or P-521:';
  const other = path('client-key.pem');
  for (const [files, line] of [
    [{ TLS_CERT: '/nowhere/cert.pem' }, "TLS_CERT can't be read: ENOENT"],
    [{ TLS_CERT: path('pipe') }, `TLS_CERT can't be read: ${path('pipe')} is no regular file`],
    [{ TLS_KEY: path('locked-key.pem') }, `${noKey} ${path('locked-key.pem')} is none`],
    [{ TLS_CERT: path('broken-chain.pem') }, 'TLS_CERT must be a PEM file with a certificate and those after it'],
    [{ TLS_KEY: other }, `TLS_KEY is not the key of TLS_CERT: ${other} and ${server.TLS_CERT}`],
    [tls(t.context, 'ed'), `${unsupported} ${path('ed-key.pem')} is none`],
  ] as const) {
    const message = await refusalOf({ ...server, ...files });
    t.is(message.slice(0, line.length), line);
  }
});

test('Files - authorities whose last one is cut off are refused, as Envoy would refuse them', async (t) => {
  const [one, other] = await Promise.all(['ca.pem', 'stranger.pem'].map(t.context.read));
  const ca = t.context.path('half-written-ca.pem');
  for (const bytes of [60, 300, (other?.length ?? 0) - 10]) {
    await writeFile(ca, `${one}${other?.subarray(0, bytes)}`);
    await t.throwsAsync(readAuthorities({ ca }), { instanceOf: ConfigError, message: /no part of one/ }, `${bytes}`);
  }
  await writeFile(ca, `${one}${other}`);
  await t.notThrowsAsync(readAuthorities({ ca }));
});
