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
import { ConfigError, type InternalTls } from '../config/config.ts';
import { type Identity, readAuthorities, readIdentity } from '../files/tls-files.ts';
import { watchCertificates } from '../files/tls-watch.ts';

const POLL_MS = 5_000;

export interface InternalPem extends Identity {
  readonly ca: Buffer;
  /** All files as one. */
  readonly content: Buffer;
  /** When the first certificate of each file ends, by setting. */
  readonly ends: Readonly<Record<string, Date>>;
}

/**
 * Watches the files until the process ends.
 *
 * @throws ConfigError when a file is missing or invalid.
 */
export async function mutualTls(files: InternalTls, logger: Logger): Promise<MutualTls> {
  const credentials = new MutualTls(await readInternalTls(files));
  void credentials.watchFiles(files, logger);
  return credentials;
}

/** @throws ConfigError when a file is missing or invalid. */
export async function readInternalTls(files: InternalTls): Promise<InternalPem> {
  const [ca, identity] = await Promise.all([
    readAuthorities({ setting: 'INTERNAL_TLS_CA', file: files.ca }),
    readIdentity({ setting: 'INTERNAL_TLS_CERT', file: files.cert }, { setting: 'INTERNAL_TLS_KEY', file: files.key }),
  ]);
  const { validTo, validToDate } = identity.certificate;
  if (validToDate.getTime() < Date.now())
    throw new ConfigError(`INTERNAL_TLS_CERT has expired (${validTo}): ${files.cert}`);
  const content = Buffer.concat([ca.pem, identity.cert, identity.key]);
  return { ...identity, ca: ca.pem, content, ends: { INTERNAL_TLS_CERT: identity.end, INTERNAL_TLS_CA: ca.end } };
}

export class MutualTls extends ServerCredentials {
  #pem: InternalPem;

  constructor(pem: InternalPem) {
    super({ requestCert: true, rejectUnauthorized: true }, toContext(pem));
    this.#pem = pem;
  }

  /** When the first certificate of each file in use ends, by setting. */
  get ends(): Readonly<Record<string, Date>> {
    return this.#pem.ends;
  }

  async watchFiles(files: InternalTls, logger: Logger): Promise<void> {
    const check = watchCertificates({
      read: () => readInternalTls(files),
      use: (pem, isRenewal) => {
        this.#pem = pem;
        this.updateSecureContextOptions(toContext(pem));
        if (isRenewal) logger.info('loaded the renewed files of INTERNAL_TLS');
      },
      warn: (line) => logger.warn(line),
    });
    for (; ; await delay(POLL_MS, undefined, { ref: false })) await check();
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }
}

function toContext({ ca, cert, key }: InternalPem): SecureContextOptions {
  return { ca, cert, key, minVersion: 'TLSv1.3' };
}
