/** TLS in front of the service, like a load balancer's, with certificates for one test file. */
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { createServer } from 'node:tls';
import { listen, type Scope, temporaryFolder } from '../scope.ts';
import { missing, sh } from './find-program.ts';

export const noOpenssl = missing('openssl');

export type Certificates = Awaited<ReturnType<typeof makeCertificates>>;

const openssl = (folder: string, ...args: string[]) => sh('openssl', args, { cwd: folder });
const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];

/** Creates a private authority, certificates that it signs, and the self-signed certificate `stranger`. */
export async function makeCertificates(t: Scope) {
  const folder = temporaryFolder(t);
  const make = (name: string, newKey: readonly string[] = EC, ...args: string[]) =>
    openssl(
      folder,
      ...['req', '-x509', '-nodes', ...newKey, '-days', '2', '-subj', `/CN=petstore test ${name}`],
      ...['-keyout', `${name}-key.pem`, '-out', `${name}.pem`, ...args],
    );
  await make('ca');
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca-key.pem', '-addext', 'basicConstraints=critical,CA:FALSE'];
  await make('server', EC, ...signed, '-addext', 'subjectAltName=DNS:localhost');
  await make('client', EC, ...signed);
  await make('stranger');
  return {
    /** Has `ca.pem`, and `NAME.pem` and `NAME-key.pem` of `server`, `client` and `stranger`. */
    folder,
    read: (file: string) => readFile(join(folder, file)),
    path: (file: string) => join(folder, file),
    publicTls: (name: string) => ({ TLS_CERT: join(folder, `${name}.pem`), TLS_KEY: join(folder, `${name}-key.pem`) }),
    /** The INTERNAL_TLS settings with the certificate `name`. */
    internalTls: (name: string) => ({
      INTERNAL_TLS_CA: join(folder, 'ca.pem'),
      INTERNAL_TLS_CERT: join(folder, `${name}.pem`),
      INTERNAL_TLS_KEY: join(folder, `${name}-key.pem`),
    }),
    /** Creates or replaces the certificate `NAME.pem` for the names (`DNS:petstore-0,IP:127.0.0.2`). */
    issue: async (name: string, subjectAltName: string, newKey?: readonly string[]) =>
      void (await make(name, newKey, ...signed, '-addext', `subjectAltName=${subjectAltName}`)),
  };
}

/**
 * Starts a TLS proxy to a local port, for clients with a certificate of the authority. Resolves with its `host:port`.
 * It ends with the process of the test.
 */
export async function startTlsFront(t: Scope, port: number, certificates: Certificates): Promise<string> {
  const [ca, cert, key] = await Promise.all(['ca.pem', 'server.pem', 'server-key.pem'].map(certificates.read));
  const options = { ca, cert, key, requestCert: true, rejectUnauthorized: true, ALPNProtocols: ['h2'] };
  const server = createServer(options, (near) => pipeline(near, connect(port, '127.0.0.1'), near, () => undefined));
  server.on('tlsClientError', () => undefined).unref();
  return (await listen(t, server)).replace('127.0.0.1', 'localhost');
}
