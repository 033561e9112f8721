/**
 * Certificates for Envoy, as SDS files. Certificate and key are in one file, which is replaced atomically. So Envoy
 * never sees half of a renewal, and restarts with the last valid pair. Open connections are not affected.
 *
 * (Envoy can watch PEM files itself, but only for renames, and Certbot replaces its links.)
 */
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { type Identity, type Reading, readAuthorities, readIdentity, watchCertificates } from '../files/tls-files.ts';
import { repeat } from './repeat.ts';
import type { Supervision } from './supervisor.ts';

const POLL_MS = 1_000;

/** A certificate and its key, or the trusted authorities. */
type Secret = Identity | Reading;

/** What reads each secret, by its name in Envoy's configuration. All throw ConfigError for a bad PEM file. */
function readers({ tls, internalTls }: Pick<Config, 'tls' | 'internalTls'>) {
  return Object.entries<() => Promise<Secret>>({
    ...(tls && { public: () => readIdentity('TLS', tls) }),
    ...(internalTls && {
      internal: () => readIdentity('INTERNAL_TLS', internalTls),
      internal_ca: () => readAuthorities(internalTls),
    }),
  });
}

/** The fields of Envoy's Secret message. */
function fieldsOf(secret: Secret) {
  if (!('key' in secret)) return { validation_context: { trusted_ca: inline(secret.content) } };
  return { tls_certificate: { certificate_chain: inline(secret.cert), private_key: inline(secret.key) } };
}

function inline(bytes: Buffer) {
  return { inline_bytes: bytes.toString('base64') };
}

export function secretFile({ dataDir }: Pick<Config, 'dataDir'>, name: string): string {
  return join(dataDir, `${name}.sds.json`);
}

/** Writes the secrets for the start of Envoy. Throws ConfigError for a bad PEM file. */
export async function writeSecrets(config: Config): Promise<void> {
  for (const [name, read] of readers(config)) await write(config, name, await read());
}

/** Updates Envoy's secrets when the PEM files change, until shutdown. Reports bad files and keeps the last secrets. */
export async function watchSecrets(
  config: Config,
  { shutdown, report }: Pick<Supervision, 'shutdown' | 'report'>,
): Promise<void> {
  const watch = async ([name, read]: readonly [string, () => Promise<Secret>]) => {
    const check = watchCertificates({
      read,
      async use(found, isRenewal) {
        await write(config, name, found); // the first time too: the file may have changed since the start of Envoy
        if (isRenewal) report(`The renewed certificate of ${Object.keys(found.ends)} is used from now on.`);
      },
      warn: report,
    });
    await repeat(POLL_MS, shutdown, check);
    await rm(secretFile(config, name), { force: true }).catch(() => undefined);
  };
  await Promise.all(readers(config).map(watch));
}

async function write(config: Config, name: string, found: Secret): Promise<void> {
  const type = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret';
  const file = secretFile(config, name);
  const next = `${file}.next`;
  const resources = [{ '@type': type, name, ...fieldsOf(found) }];
  await writeFile(next, JSON.stringify({ resources }), { mode: 0o600 });
  await rename(next, file);
}
