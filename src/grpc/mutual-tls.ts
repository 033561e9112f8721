/**
 * TLS on which a client has to show a certificate of our authority. Renewed files are taken up for new connections; those
 * that are open go on. Files that don't fit together (they may be about to be replaced) change nothing.
 *
 * (grpc-js has `FileWatcherCertificateProvider`, which refuses all new connections while files don't fit together, and no
 * way to ask for TLS 1.3.)
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { SecureContextOptions } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import { ConfigError, type InternalTls } from '../config.ts';
import { type Identity, readAuthorities, readIdentity } from '../files/tls-files.ts';

const LOOK_MS = 5_000;

interface Pem extends Identity {
  readonly ca: Buffer;
}

/** Throws ConfigError when a file is not what it should be. Looks at the files again until the process ends. */
export async function mutualTls(files: InternalTls, logger: Logger): Promise<ServerCredentials> {
  const credentials = new MutualTls(await readInternalTls(files));
  void credentials.followFiles(files, logger);
  return credentials;
}

/** Throws ConfigError when one is not what it should be. */
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

  async followFiles(files: InternalTls, logger: Logger): Promise<void> {
    for (let told = ''; ; ) {
      await delay(LOOK_MS, undefined, { ref: false });
      try {
        const pem = await readInternalTls(files);
        told = '';
        if (isSame(pem, this.#pem)) continue;
        this.#pem = pem;
        this.updateSecureContextOptions(toContext(pem));
        logger.info('took up the renewed files of INTERNAL_TLS');
      } catch (error) {
        const { message } = error as Error;
        if (message !== told) logger.warn({ reason: message }, 'goes on with the certificate it has');
        told = message;
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
