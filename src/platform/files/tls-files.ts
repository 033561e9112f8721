/**
 * Reads and checks the PEM files of settings, so that a wrong file is an error at start and not a failed handshake.
 * Watches them: hands on renewed ones, and warns of bad files and of certificates that end soon, once each.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { ConfigError, type InternalTls } from '../config/config.ts';

/** The curves and keys that Envoy's TLS library supports. */
const CURVES = ['prime256v1', 'secp384r1', 'secp521r1'];
const MIN_RSA_BITS = 2_048;
const KEYS = `an RSA key of ${MIN_RSA_BITS} bits or more, or an EC key on P-256, P-384 or P-521`;

export interface Reading {
  /** All files as one, by which a renewal is recognized. */
  readonly content: Buffer;
  /** When the first certificate of each file ends, by setting. */
  readonly ends: Readonly<Record<string, Date>>;
}

interface PemFile {
  readonly setting: string;
  readonly file: string;
}

export type Identity = Awaited<ReturnType<typeof readIdentity>>;

/**
 * Reads the files of `<prefix>_CERT`, a certificate chain without the root, and `<prefix>_KEY`, its private key.
 *
 * @throws ConfigError when a file is invalid or the key does not belong to the certificate.
 */
export async function readIdentity(prefix: string, files: Pick<InternalTls, 'cert' | 'key'>) {
  const cert = { setting: `${prefix}_CERT`, file: files.cert };
  const key = { setting: `${prefix}_KEY`, file: files.key };
  const [certPem, keyPem] = await Promise.all([readPem(cert), readPem(key)]);
  const certificate = parse(cert, 'certificate', () => new X509Certificate(certPem));
  const privateKey = parse(key, 'private key without a passphrase', () => createPrivateKey(keyPem));
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new ConfigError(`${key.setting} is not the key of ${cert.setting}: ${key.file} and ${cert.file}`);
  }
  if (!isSupported(privateKey)) throw new ConfigError(`${key.setting} must be ${KEYS}: ${key.file} is none`);
  parse(cert, 'certificate and those after it that its authority needs', () =>
    createSecureContext({ cert: certPem, key: keyPem }),
  );
  const content = Buffer.concat([certPem, keyPem]);
  return { cert: certPem, key: keyPem, certificate, content, ends: firstEnd(cert, certPem) };
}

function isSupported({ asymmetricKeyType, asymmetricKeyDetails = {} }: KeyObject): boolean {
  const { modulusLength = 0, namedCurve = '' } = asymmetricKeyDetails;
  return asymmetricKeyType === 'rsa' ? modulusLength >= MIN_RSA_BITS : CURVES.includes(namedCurve);
}

/** Reads the certificates of authorities. @throws ConfigError when the file has no certificate, or an invalid one. */
export async function readAuthorities({ ca }: Pick<InternalTls, 'ca'>): Promise<Reading> {
  const file = { setting: 'INTERNAL_TLS_CA', file: ca };
  const content = await readPem(file);
  return { content, ends: firstEnd(file, content) };
}

export type InternalPem = Awaited<ReturnType<typeof readInternalTls>>;

/** @throws ConfigError when a file is missing or invalid. */
export async function readInternalTls(files: InternalTls) {
  const [authorities, identity] = await Promise.all([readAuthorities(files), readIdentity('INTERNAL_TLS', files)]);
  const { validTo, validToDate } = identity.certificate;
  if (validToDate.getTime() < Date.now())
    throw new ConfigError(`INTERNAL_TLS_CERT has expired (${validTo}): ${files.cert}`);
  const content = Buffer.concat([authorities.content, identity.content]);
  return { ...identity, ca: authorities.content, content, ends: { ...identity.ends, ...authorities.ends } };
}

function firstEnd(file: PemFile, pem: Buffer): Reading['ends'] {
  // Each from its beginning to its end, or to that of the file: Envoy refuses all of a file that ends amid one.
  const certificates = pem.toString().match(/-----BEGIN CERTIFICATE-----[^-]*(-----END CERTIFICATE-----)?/g) ?? [pem];
  const endsMs = parse(file, 'certificate and no part of one', () =>
    certificates.map((one) => new X509Certificate(one).validToDate.getTime()),
  );
  return { [file.setting]: new Date(Math.min(...endsMs)) };
}

async function readPem({ setting, file }: PemFile): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw new ConfigError(`${setting} can't be read: ${(error as Error).message}`);
  }
}

function parse<T>({ setting, file }: PemFile, what: string, toObject: () => T): T {
  try {
    return toObject();
  } catch {
    throw new ConfigError(`${setting} must be a PEM file with a ${what}, and ${file} is none`);
  }
}

/** How long before the end of a certificate a warning is given: 14 days. */
const WARN_MS = 14 * 86_400_000;

interface Watch<R extends Reading> {
  /** Throws ConfigError for a bad file: it may be in the middle of a renewal. */
  read(): Promise<R>;
  /** Called with the first reading, and with each that differs from the one before. */
  use(reading: R, isRenewal: boolean): void | Promise<void>;
  warn(line: string): void;
}

/** Returns a function that reads the files once. Call it regularly. */
export function watchCertificates<R extends Reading>({ read, use, warn }: Watch<R>): () => Promise<void> {
  let current: R | undefined;
  const [warnOfFiles, warnOfEnds] = [whenChanged(warn), whenChanged(warn)];
  return async () => {
    let problem = '';
    try {
      const found = await read();
      if (current === undefined || !found.content.equals(current.content)) {
        await use(found, current !== undefined);
        current = found;
      }
    } catch (error) {
      problem = `${(error as Error).message}. The certificate from before stays in use.`;
    }
    warnOfFiles(problem);
    warnOfEnds(
      Object.entries(current?.ends ?? {})
        .flatMap(endWarning)
        .join(' '),
    );
  };
}

/** An expired certificate is warned of too: it may be in use all the same. */
function endWarning([setting, end]: readonly [string, Date]): string[] {
  return end.getTime() < Date.now() + WARN_MS ? [`${setting} is valid until ${end.toUTCString()} only: renew it.`] : [];
}

/** Passes on a line unless it is empty or the last one again. */
function whenChanged(pass: (line: string) => void): (line: string) => void {
  let last = '';
  return (line) => {
    if (line !== last && line !== '') pass(line);
    last = line;
  };
}
