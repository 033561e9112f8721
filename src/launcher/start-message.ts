/** The launcher's message when the service is open. Its curl line can be pasted into the same shell. */
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Config, TlsFiles } from '../config.ts';
import { demoKeyFile } from '../keys/key-files.ts';
import { logDir } from './paths.ts';
import { publicUrl } from './stack.ts';

export function startMessage(config: Config): string {
  const { url, options } = address(config);
  const file = demoKeyFile(config.dataDir);
  const hasDemoKey = config.demoAccount && existsSync(file);
  const key = hasDemoKey ? `$(cat ${shellQuote(displayPath(file))})` : '<API_KEY>';
  const call = config.proxyProtocol
    ? 'Only TRUSTED_PROXIES can connect, with a PROXY protocol header: call it through one of them.'
    : ['curl', ...options, `-H "Authorization: Bearer ${key}"`, shellQuote(`${url}/pets`)].join(' ');
  const lines = ['', `The pet store is open: ${url}`, `Its documentation: ${url}/docs`, '', `  ${call}`, ''];
  if (!hasDemoKey) {
    lines.push('Accounts and keys are made with the petstore command: npm run -s petstore -- --help', '');
  }
  if (config.databaseUrl !== undefined && config.redis === undefined) {
    lines.push('Limits are counted in this server only. If others share its database, set REDIS_URL.');
  }
  if (config.instances > 1) {
    lines.push(`${config.instances} servers run. To restart one after the other: kill -USR2 ${process.pid}`);
  }
  return [...lines, `Logs are in ${logDir(config)}. Ctrl-C stops it.`].join('\n');
}

/** The public URL, with a name in the certificate, and the curl options to trust it on this machine. */
function address(config: Config): { readonly url: string; readonly options: readonly string[] } {
  const url = publicUrl(config);
  if (config.tls === undefined) return { url, options: [] };
  const { hostname, port } = new URL(url);
  const ip = hostname.replace(/[[\]]/g, '');
  const { names, addresses } = certificateSubjects(config.tls);
  const trust = `--cacert ${shellQuote(config.tls.cert)}`;
  const [name] = names;
  if (addresses.includes(ip)) return { url, options: [trust] };
  if (name === undefined) return { url, options: ['--insecure'] };
  const resolve = `--resolve ${shellQuote(`${name}:${port || 443}:${hostname}`)}`;
  const named = new URL(`https://${name}:${port}`).origin;
  return { url: named, options: name === 'localhost' && ip === '127.0.0.1' ? [trust] : [trust, resolve] };
}

/** The names and addresses of a certificate. A wildcard becomes a name that it matches. */
function certificateSubjects({ cert }: TlsFiles): {
  readonly names: readonly string[];
  readonly addresses: readonly string[];
} {
  const entries = new X509Certificate(readFileSync(cert)).subjectAltName?.split(', ') ?? [];
  const withPrefix = (prefix: string) =>
    entries.filter((entry) => entry.startsWith(prefix)).map((entry) => entry.slice(prefix.length));
  return { names: withPrefix('DNS:').map((name) => name.replace(/^\*/, 'www')), addresses: withPrefix('IP Address:') };
}

/** A path relative to the user's folder, if it is below. INIT_CWD is the folder in which npm was called. */
function displayPath(file: string): string {
  const { INIT_CWD: usersFolder = process.cwd() } = process.env;
  const path = relative(process.cwd(), file);
  return usersFolder !== process.cwd() || path.startsWith('..') ? file : path;
}

/** Quotes a word for a POSIX shell. A leading dash would make it an option. */
function shellQuote(text: string): string {
  const word = text.startsWith('-') ? `./${text}` : text;
  return /^[\w./:@%+,=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
