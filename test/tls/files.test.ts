/** `npm start` with valid and invalid certificates, and what is said of invalid ones. */
import { execFile } from 'node:child_process';
import { copyFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ConfigError } from '../../src/platform/config/config.ts';
import { readAuthorities, readIdentity } from '../../src/platform/files/tls-files.ts';
import { type Context, launch } from '../launcher/launch.ts';
import { testUnless } from '../support/machine/programs.ts';
import { type Certificates, makeCertificates, noOpenssl } from '../support/machine/tls.ts';
import { sharing } from '../support/service/sharing.ts';

const test = testUnless<Context>(noOpenssl);
const sh = promisify(execFile);

let certificates: Certificates;
sharing(noOpenssl, async (t) => {
  certificates = await makeCertificates(t);
});

const openssl = (...args: string[]) => sh('openssl', args, { cwd: certificates.folder });
const tls = (name: string) => ({
  TLS_CERT: certificates.path(`${name}.pem`),
  TLS_KEY: certificates.path(`${name}-key.pem`),
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
  const { TLS_CERT, TLS_KEY } = tls('server');
  const { folder, path } = certificates;
  await openssl('ec', '-in', 'server-key.pem', '-aes256', '-passout', 'pass:secret', '-out', 'locked-key.pem');
  const damaged = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
  await writeFile(path('broken-chain.pem'), `${await certificates.read('server.pem')}${damaged}`);
  await sh('mkfifo', [path('pipe')]);
  const request = ['req', '-x509', '-nodes', '-days', '2', '-subj', '/CN=localhost'];
  await openssl(...request, '-newkey', 'ed25519', '-keyout', 'ed-key.pem', '-out', 'ed.pem');
  await openssl(...request, '-newkey', 'rsa:1024', '-keyout', 'small-key.pem', '-out', 'small.pem');
  const noKey = 'TLS_KEY must be a PEM file with a private key without a passphrase, and';
  const unsupported = 'TLS_KEY must be an RSA key of 2048 bits or more, or an EC key on P-256, P-384 or P-521:';
  const other = path('client-key.pem');
  for (const [files, line] of [
    [{ TLS_CERT: '/nowhere/cert.pem' }, "TLS_CERT can't be read: ENOENT"],
    [{ TLS_KEY: folder }, `TLS_KEY can't be read: ${folder} is no regular file`],
    [{ TLS_CERT: path('pipe') }, `TLS_CERT can't be read: ${path('pipe')} is no regular file`],
    [
      { TLS_CERT: TLS_KEY, TLS_KEY: TLS_CERT },
      `TLS_CERT must be a PEM file with a certificate, and ${TLS_KEY} is none`,
    ],
    [{ TLS_KEY: TLS_CERT }, `${noKey} ${TLS_CERT} is none`],
    [{ TLS_KEY: path('locked-key.pem') }, `${noKey} ${path('locked-key.pem')} is none`],
    [{ TLS_CERT: path('broken-chain.pem') }, 'TLS_CERT must be a PEM file with a certificate and those after it'],
    [{ TLS_KEY: other }, `TLS_KEY is not the key of TLS_CERT: ${other} and ${TLS_CERT}`],
    [tls('ed'), `${unsupported} ${path('ed-key.pem')} is none`],
    [tls('small'), `${unsupported} ${path('small-key.pem')} is none`],
  ] as const) {
    const message = await refusalOf({ ...tls('server'), ...files });
    t.is(message.slice(0, line.length), line);
  }
});

test('Files - authorities whose last one is cut off are refused, as Envoy would refuse them', async (t) => {
  const [one, other] = await Promise.all(['ca.pem', 'stranger.pem'].map((file) => certificates.read(file)));
  const ca = certificates.path('half-written-ca.pem');
  for (const bytes of [60, 300, (other?.length ?? 0) - 10]) {
    await writeFile(ca, `${one}${other?.subarray(0, bytes)}`);
    await t.throwsAsync(readAuthorities({ ca }), { instanceOf: ConfigError, message: /no part of one/ }, `${bytes}`);
  }
  await writeFile(ca, `${one}${other}`);
  await t.notThrowsAsync(readAuthorities({ ca }));
});

test('Start - uses an expired certificate and reports it, then half of a renewal, and its completion', async (t) => {
  await openssl('req', '-new', '-key', 'stranger-key.pem', '-subj', '/CN=localhost', '-out', 'old.csr');
  await openssl('x509', '-req', '-in', 'old.csr', '-signkey', 'stranger-key.pem', '-days', '-1', '-out', 'old.pem');
  await copyFile(certificates.path('stranger-key.pem'), certificates.path('old-key.pem'));
  const { TLS_CERT, TLS_KEY } = tls('old');
  const key = await certificates.read('old-key.pem');
  const launcher = launch(t, { TLS_CERT, TLS_KEY });
  const { url, curl } = await launcher.opened();
  t.is(url, `https://127.0.0.1:${launcher.settings.PORT}`);
  t.is((await sh('sh', ['-c', `${curl} --silent --fail`])).stdout, '[]', 'whatever name the certificate has');
  await launcher.says(/TLS_CERT is valid until .* GMT only: renew it\.\n/);
  const copy = join(t.context.settings.DATA_DIR ?? '', 'public.sds.json');
  t.is((await stat(copy)).mode & 0o777, 0o600);

  await writeFile(TLS_KEY, await certificates.read('client-key.pem'));
  const half = /TLS_KEY is not the key of TLS_CERT: .*\. The certificate from before stays in use\.\n/;
  await launcher.says(half);
  await writeFile(TLS_CERT, await certificates.read('client.pem'));
  await launcher.says(/The renewed certificate of TLS_CERT is used from now on\.\n/);
  t.is(launcher.output.match(new RegExp(half, 'g'))?.length, 1);
  t.false(launcher.output.includes(key.toString()));
  t.deepEqual(await launcher.end('SIGTERM'), { code: 0, signal: null });
  await t.throwsAsync(stat(copy), { code: 'ENOENT' });
});
