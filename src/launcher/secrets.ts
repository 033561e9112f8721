/**
 * Certificates for Envoy, as SDS files. Certificate and key are in one file, which is replaced atomically. So Envoy
 * never sees half of a renewal, and restarts with the last valid pair. It uses a new file for new connections; open
 * ones are not affected.
 *
 * (Envoy can watch PEM files itself, but only for renames. Certbot replaces its links.)
 */
import type { X509Certificate } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { type PemFile, readAuthorities, readIdentity } from '../files/tls-files.ts';

const POLL_MS = 1_000;
const DAY_MS = 86_400_000;
/** How many days before the expiry of a certificate warnings begin. */
const WARN_DAYS = 14;

/** A certificate and its key, or the trusted authorities, by the name in Envoy's configuration. */
interface Secret {
  readonly name: string;
  /** The setting of the certificate's file. */
  readonly setting: string;
  /** Who checks its dates. */
  readonly checkedBy: 'callers' | 'servers';
  /** Throws ConfigError for a bad PEM file. */
  read(): Promise<Content>;
}

interface Content {
  /** The fields of Envoy's Secret message. */
  readonly fields: object;
  readonly certificate: X509Certificate;
}

interface WatchOptions {
  /** Aborted when the service stops. */
  readonly shutdown: AbortSignal;
  /** Reports events as lines for people. */
  readonly report: (line: string) => void;
}

export function listSecrets({ tls, internalTls }: Pick<Config, 'tls' | 'internalTls'>): Secret[] {
  return [
    ...(tls === undefined ? [] : [identity('public', pem('TLS_CERT', tls.cert), pem('TLS_KEY', tls.key))]),
    ...(internalTls === undefined
      ? []
      : [
          identity('internal', pem('INTERNAL_TLS_CERT', internalTls.cert), pem('INTERNAL_TLS_KEY', internalTls.key)),
          authorities('internal_ca', pem('INTERNAL_TLS_CA', internalTls.ca)),
        ]),
  ];
}

function pem(setting: string, file: string): PemFile {
  return { setting, file };
}

function identity(name: string, cert: PemFile, key: PemFile): Secret {
  return {
    name,
    setting: cert.setting,
    checkedBy: name === 'public' ? 'callers' : 'servers',
    async read() {
      const found = await readIdentity(cert, key);
      const pair = { certificate_chain: inline(found.cert), private_key: inline(found.key) };
      return { fields: { tls_certificate: pair }, certificate: found.certificate };
    },
  };
}

function authorities(name: string, ca: PemFile): Secret {
  return {
    name,
    setting: ca.setting,
    checkedBy: 'servers',
    async read() {
      const found = await readAuthorities(ca);
      return { fields: { validation_context: { trusted_ca: inline(found.pem) } }, certificate: found.certificate };
    },
  };
}

function inline(bytes: Buffer) {
  return { inline_bytes: bytes.toString('base64') };
}

/** The file from which Envoy reads a secret. */
export function secretFile({ dataDir }: Pick<Config, 'dataDir'>, name: string): string {
  return join(dataDir, `${name}.sds.json`);
}

/** Writes the secrets for the start of Envoy. Throws ConfigError for a bad PEM file. */
export async function writeSecrets(config: Config): Promise<void> {
  for (const secret of listSecrets(config)) await write(config, secret, await secret.read());
}

/** Updates Envoy's secrets when the PEM files change, until shutdown. Reports bad files and keeps the last secrets. */
export async function watchSecrets(config: Config, options: WatchOptions): Promise<void> {
  await Promise.all(listSecrets(config).map((secret) => watch(config, secret, options)));
}

async function watch(config: Config, secret: Secret, { shutdown, report }: WatchOptions): Promise<void> {
  let current: Content | undefined;
  let lastReported = '';
  const reportOnce = (line: string) => {
    if (line !== lastReported && line !== '') report(line);
    lastReported = line;
  };
  while (!shutdown.aborted) {
    try {
      const found = await secret.read();
      if (current === undefined || !isSame(found, current)) {
        // Written the first time too: the file may have changed since the start of Envoy.
        await write(config, secret, found);
        if (current !== undefined) report(`The renewed certificate of ${secret.setting} is used from now on.`);
        current = found;
      }
      reportOnce(dateWarning(secret, current));
    } catch (error) {
      reportOnce(`${(error as Error).message}. The certificate from before stays in use.`);
    }
    await delay(POLL_MS, undefined, { signal: shutdown }).catch(() => undefined);
  }
  await rm(secretFile(config, secret.name), { force: true }).catch(() => undefined);
}

async function write(config: Config, { name }: Secret, { fields }: Content): Promise<void> {
  const secret = { '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret', name, ...fields };
  const file = secretFile(config, name);
  const next = `${file}.next`;
  await writeFile(next, JSON.stringify({ resources: [secret] }), { mode: 0o600 });
  await rename(next, file);
}

function isSame(one: Content, other: Content): boolean {
  return JSON.stringify(one.fields) === JSON.stringify(other.fields);
}

/** A warning about the dates of a certificate. It is used all the same, as not every peer checks them. */
function dateWarning({ setting, checkedBy }: Secret, { certificate }: Content): string {
  const daysLeft = (certificate.validToDate.getTime() - Date.now()) / DAY_MS;
  if (certificate.validFromDate.getTime() > Date.now()) {
    return `${setting} is not valid before ${certificate.validFrom}: ${checkedBy} refuse it until then.`;
  }
  if (daysLeft < 0) return `${setting} has expired (${certificate.validTo}): ${checkedBy} refuse it.`;
  if (daysLeft >= WARN_DAYS) return '';
  return `${setting} expires in ${Math.ceil(daysLeft)} days (${certificate.validTo}): renew it.`;
}
