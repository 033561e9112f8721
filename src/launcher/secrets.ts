/**
 * Certificates as Envoy has them (its SDS, from a file). Certificate and key stand in one file, which is replaced as a
 * whole, so that Envoy never has one half of a renewal, and starts again with what worked when the other half is
 * missing. It takes a new file up for new connections; those that are open go on.
 *
 * (Envoy can watch the PEM files by itself, for one thing only: that a file or link is renamed. Certbot makes its links
 * anew.)
 */
import type { X509Certificate } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { type PemFile, readAuthorities, readIdentity } from '../files/tls-files.ts';

const POLL_MS = 1_000;
const DAY_MS = 86_400_000;
/** How long before its end a certificate is spoken of. */
const WARN_DAYS = 14;

/** A certificate and its key, or the authorities that others' are checked against, by the name that Envoy has for it. */
interface Secret {
  readonly name: string;
  /** Of the certificate's file. */
  readonly setting: string;
  /** Who looks at its dates. */
  readonly checkedBy: 'callers' | 'servers';
  /** Throws ConfigError when a PEM file is not what it should be. */
  read(): Promise<Content>;
}

interface Content {
  /** As Envoy has it. */
  readonly fields: object;
  readonly certificate: X509Certificate;
}

interface WatchOptions {
  /** Aborted when the service is to stop. */
  readonly shutdown: AbortSignal;
  /** Takes lines for people. */
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
      const certificate = { certificate_chain: inline(found.cert), private_key: inline(found.key) };
      return { fields: { tls_certificate: certificate }, certificate: found.certificate };
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

/** The file that Envoy reads a secret from. */
export function secretFile({ dataDir }: Pick<Config, 'dataDir'>, name: string): string {
  return join(dataDir, `${name}.sds.json`);
}

/** Writes what Envoy is to start with. Throws ConfigError when a PEM file is not what it should be. */
export async function writeSecrets(config: Config): Promise<void> {
  for (const secret of listSecrets(config)) await write(config, secret, await secret.read());
}

/** Has Envoy take up what the PEM files become, until it is over. What Envoy can't use is told, and changes nothing. */
export async function watchSecrets(config: Config, listener: WatchOptions): Promise<void> {
  await Promise.all(listSecrets(config).map((secret) => watch(config, secret, listener)));
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
        // The first may have been renewed since it was written.
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

/** What is wrong with the dates of a certificate that is used all the same: not everybody looks at them. */
function dateWarning({ setting, checkedBy }: Secret, { certificate }: Content): string {
  const daysLeft = (certificate.validToDate.getTime() - Date.now()) / DAY_MS;
  if (certificate.validFromDate.getTime() > Date.now()) {
    return `${setting} is not valid before ${certificate.validFrom}: ${checkedBy} refuse it until then.`;
  }
  if (daysLeft < 0) return `${setting} has expired (${certificate.validTo}): ${checkedBy} refuse it.`;
  if (daysLeft >= WARN_DAYS) return '';
  return `${setting} expires in ${Math.ceil(daysLeft)} days (${certificate.validTo}): renew it.`;
}
