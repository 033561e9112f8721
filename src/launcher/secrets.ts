/**
 * Certificates as Envoy has them (its SDS, from a file). Certificate and key stand in one file, which is replaced as a
 * whole, so that Envoy never has one half of a renewal, and starts again with what worked when the other half is
 * missing. It takes a new file up for new connections; those that are open go on.
 *
 * (Envoy can watch the PEM files by itself, for one thing only: that a file or link is renamed. Certbot makes its links
 * anew.)
 */
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { type Identity, type PemFile, readIdentity } from '../tls-files.ts';

const LOOK_MS = 1_000;
const DAY_MS = 86_400_000;
/** How long before its end a certificate is spoken of. */
const WARN_DAYS = 14;

/** A certificate and its key, by the name that envoy.yaml has for both. */
interface Secret {
  readonly name: string;
  readonly cert: PemFile;
  readonly key: PemFile;
}

interface Listener {
  /** Aborted when the service is to stop. */
  readonly over: AbortSignal;
  /** Takes lines for people. */
  readonly say: (line: string) => void;
}

export function secretsOf({ tls }: Pick<Config, 'tls'>): Secret[] {
  if (tls === undefined) return [];
  return [
    { name: 'public', cert: { setting: 'TLS_CERT', file: tls.cert }, key: { setting: 'TLS_KEY', file: tls.key } },
  ];
}

/** The file that Envoy reads a secret from. */
export function secretFile({ dataDir }: Pick<Config, 'dataDir'>, name: string): string {
  return join(dataDir, `${name}.sds.json`);
}

/** Writes what Envoy is to start with. Throws ConfigError when a PEM file is not what it should be. */
export async function writeSecrets(config: Config): Promise<void> {
  for (const secret of secretsOf(config)) await write(config, secret, await readIdentity(secret.cert, secret.key));
}

/** Has Envoy take up what the PEM files become, until it is over. What Envoy can't use is told, and changes nothing. */
export async function followSecrets(config: Config, listener: Listener): Promise<void> {
  await Promise.all(secretsOf(config).map((secret) => follow(config, secret, listener)));
}

async function follow(config: Config, secret: Secret, { over, say }: Listener): Promise<void> {
  let current: Identity | undefined;
  let told = '';
  const tell = (line: string) => {
    if (line !== told && line !== '') say(line);
    told = line;
  };
  while (!over.aborted) {
    try {
      const found = await readIdentity(secret.cert, secret.key);
      if (current === undefined || !isSame(found, current)) {
        // The first may have been renewed since it was written.
        await write(config, secret, found);
        if (current !== undefined) say(`The renewed certificate of ${secret.cert.setting} is used from now on.`);
        current = found;
      }
      tell(warningOf(secret, current));
    } catch (error) {
      tell(`${(error as Error).message}. The certificate from before stays in use.`);
    }
    await delay(LOOK_MS, undefined, { signal: over }).catch(() => undefined);
  }
  await rm(secretFile(config, secret.name), { force: true }).catch(() => undefined);
}

async function write(config: Config, { name }: Secret, { cert, key }: Identity): Promise<void> {
  const secret = {
    '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret',
    name,
    tls_certificate: {
      certificate_chain: { inline_bytes: cert.toString('base64') },
      private_key: { inline_bytes: key.toString('base64') },
    },
  };
  const file = secretFile(config, name);
  const next = `${file}.next`;
  await writeFile(next, JSON.stringify({ resources: [secret] }), { mode: 0o600 });
  await rename(next, file);
}

function isSame(one: Identity, other: Identity): boolean {
  return one.cert.equals(other.cert) && one.key.equals(other.key);
}

/** What is wrong with the dates of a certificate that is used all the same: not every caller looks at them. */
function warningOf({ cert }: Secret, { certificate }: Identity): string {
  const daysLeft = (certificate.validToDate.getTime() - Date.now()) / DAY_MS;
  if (certificate.validFromDate.getTime() > Date.now()) {
    return `${cert.setting} is not valid before ${certificate.validFrom}: callers refuse it until then.`;
  }
  if (daysLeft < 0) return `${cert.setting} has expired (${certificate.validTo}): callers refuse it.`;
  if (daysLeft >= WARN_DAYS) return '';
  return `${cert.setting} expires in ${Math.ceil(daysLeft)} days (${certificate.validTo}): renew it.`;
}
