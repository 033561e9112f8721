/**
 * The connection between edge and servers. A server trusts what it receives there: the caller's address, and Envoy's
 * own requests. So the connection must be loopback or mutual TLS.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Config } from './config.ts';
import { ConfigError } from './setting.ts';

/** The files of settings with a common prefix; undefined when none is set. Throws ConfigError when only some are. */
export function allOrNone<N extends string>(
  prefix: string,
  files: Readonly<Record<N, string | undefined>>,
): Readonly<Record<N, string>> | undefined {
  const names = Object.keys(files) as N[];
  const missing = names.filter((name) => files[name] === undefined);
  if (missing.length === 0) return files as Readonly<Record<N, string>>;
  if (missing.length === names.length) return undefined;
  const list = (some: readonly N[]) => some.map((name) => `${prefix}_${name.toUpperCase()}`).join(' and ');
  throw new ConfigError(`${list(missing)} must be set too: ${list(names)} belong together`);
}

type Connection = Pick<Config, 'grpcHost' | 'servers' | 'internalTls'>;

/** Throws ConfigError when the connection leaves this machine without TLS. */
export function checkInternalTls({ grpcHost, servers = [], internalTls }: Connection): void {
  const named = [['GRPC_HOST', grpcHost], ...servers.map(({ host }) => ['SERVERS', host])];
  const [remote] = named.filter(([, host = '']) => !isLoopback(host));
  if (internalTls !== undefined || remote === undefined) return;
  const files = 'INTERNAL_TLS_CA, INTERNAL_TLS_CERT and INTERNAL_TLS_KEY';
  const needed = `set ${files}: beyond loopback edge and servers speak mutual TLS only`;
  throw new ConfigError(`${remote.join(' names ')}, which is not loopback: ${needed}`);
}

/** Whether the host is loopback. Of names, only localhost is (RFC 6761, section 6.3). */
function isLoopback(host: string): boolean {
  return isIP(host) === 0 ? /^(.+\.)?localhost\.?$/i.test(host) : ipaddr.process(host).range() === 'loopback';
}
