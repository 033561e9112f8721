/**
 * Mutual TLS: a client must present a certificate of the configured authority. Renewed files apply to new connections;
 * open connections continue. Files that do not match each other are ignored: they may be in the middle of a renewal.
 *
 * (grpc-js has `FileWatcherCertificateProvider`, but it refuses new connections while files do not match, and can't
 * require TLS 1.3.)
 */
import type { SecureContextOptions } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import type { InternalTls } from '../config/config.ts';
import { type InternalPem, readInternalTls, watchCertificates } from '../files/tls-files.ts';

const POLL_MS = 5_000;

/** Watches the files until the process ends. @throws ConfigError when a file is missing or invalid. */
export async function mutualTls(files: InternalTls, logger: Logger): Promise<MutualTls> {
  const read = () => readInternalTls(files);
  const credentials = new MutualTls(await read());
  const check = watchCertificates({
    read,
    use(pem, isRenewal) {
      credentials.use(pem);
      if (isRenewal) logger.info('loaded the renewed files of INTERNAL_TLS');
    },
    warn: (line) => logger.warn(line),
  });
  void check();
  setInterval(check, POLL_MS).unref();
  return credentials;
}

export class MutualTls extends ServerCredentials {
  ends: InternalPem['ends'];

  constructor(pem: InternalPem) {
    super({ requestCert: true, rejectUnauthorized: true, handshakeTimeout: 10_000 }, toContext(pem)); // as Envoy's
    this.ends = pem.ends;
  }

  use(pem: InternalPem): void {
    this.ends = pem.ends;
    this.updateSecureContextOptions(toContext(pem));
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}

function toContext({ ca, cert, key }: InternalPem): SecureContextOptions {
  return { ca, cert, key, minVersion: 'TLSv1.3' };
}
