/**
 * The connection between edge and servers. A server trusts what it receives there: the caller's address, and Envoy's
 * own requests. So the connection must be loopback or mutual TLS.
 */
import { BlockList, isIP } from 'node:net';
import type { ServerAddress } from './checks.ts';
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

interface InternalConnection {
  readonly grpcHost: string;
  readonly servers: readonly ServerAddress[] | undefined;
  readonly internalTls: object | undefined;
}

/** Throws ConfigError when the connection leaves this machine without TLS. */
export function checkInternalTls({ grpcHost, servers = [], internalTls }: InternalConnection): void {
  if (internalTls !== undefined) return;
  const remote = servers.find(({ host }) => !isLoopback(host));
  if (!isLoopback(grpcHost)) throw needsTls('GRPC_HOST', grpcHost);
  if (remote !== undefined) throw needsTls('SERVERS', remote.host);
}

function needsTls(name: string, host: string): ConfigError {
  const names = 'INTERNAL_TLS_CA, INTERNAL_TLS_CERT and INTERNAL_TLS_KEY';
  const needed = `set ${names}: beyond loopback edge and servers speak mutual TLS only`;
  return new ConfigError(`${name} names ${host}, which is not loopback: ${needed}`);
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8);
LOOPBACK.addAddress('::1', 'ipv6');

/** Whether the host is loopback. Of names, only localhost is (RFC 6761, section 6.3). */
function isLoopback(host: string): boolean {
  if (isIP(host) === 0) return /^(.+\.)?localhost\.?$/i.test(host);
  return LOOPBACK.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4');
}
