/**
 * Mutual TLS: a client must present a certificate of the configured authority. Renewed files apply to new connections;
 * open connections continue. Files that do not match each other are ignored: they may be in the middle of a renewal.
 *
 * (grpc-js has `FileWatcherCertificateProvider`, but it refuses new connections while files do not match, and can't
 * require TLS 1.3.)
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { SecureContextOptions } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import { ConfigError, type InternalTls } from '../config.ts';
import { type Identity, readAuthorities, readIdentity } from '../files/tls-files.ts';

const POLL_MS = 5_000;

interface Pem extends Identity {
  readonly ca: Buffer;
}

/**
 * Watches the files until the process ends.
 *
 * @throws ConfigError when a file is missing or invalid.
 */
export async function mutualTls(files: InternalTls, logger: Logger): Promise<ServerCredentials> {
  const credentials = new MutualTls(await readInternalTls(files));
  void credentials.watchFiles(files, logger);
  return credentials;
}

/** @throws ConfigError when a file is missing or invalid. */
export async function readInternalTls(files: InternalTls): Promise<Pem> {
  const [ca, identity] = await Promise.all([
    readAuthorities({ setting: 'INTERNAL_TLS_CA', file: files.ca }),
    readIdentity({ setting: 'INTERNAL_TLS_CERT', file: files.cert }, { setting: 'INTERNAL_TLS_KEY', file: files.key }),
  ]);
  const { validTo, validToDate } = identity.certificate;
  if (validToDate.getTime() < Date.now())
    throw new ConfigError(`INTERNAL_TLS_CERT has expired (${validTo}): ${files.cert}`);
  return { ca: ca.pem, ...identity };
}

class MutualTls extends ServerCredentials {
  #pem: Pem;

  constructor(pem: Pem) {
    super({ requestCert: true, rejectUnauthorized: true }, toContext(pem));
    this.#pem = pem;
  }

  async watchFiles(files: InternalTls, logger: Logger): Promise<void> {
    for (let lastWarning = ''; ; ) {
      await delay(POLL_MS, undefined, { ref: false });
      try {
        const pem = await readInternalTls(files);
        lastWarning = '';
        if (isSame(pem, this.#pem)) continue;
        this.#pem = pem;
        this.updateSecureContextOptions(toContext(pem));
        logger.info('loaded the renewed files of INTERNAL_TLS');
      } catch (error) {
        const { message } = error as Error;
        if (message !== lastWarning) logger.warn({ reason: message }, 'keeps the certificate that it has');
        lastWarning = message;
      }
    }
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}

function toContext({ ca, cert, key }: Pem): SecureContextOptions {
  return { ca, cert, key, minVersion: 'TLSv1.3' };
}

function isSame(one: Pem, other: Pem): boolean {
  return one.ca.equals(other.ca) && one.cert.equals(other.cert) && one.key.equals(other.key);
}
