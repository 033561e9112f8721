/**
 * The connection between edge and servers. A server trusts what it receives there: the caller's address, and Envoy's
 * own requests. So the connection must be loopback or mutual TLS.
 */
import { BlockList, isIP } from 'node:net';
import type { ServerAddress } from './checks.ts';
import { ConfigError } from './setting.ts';

/** PEM files. */
export interface InternalTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

const NAMES = ['INTERNAL_TLS_CA', 'INTERNAL_TLS_CERT', 'INTERNAL_TLS_KEY'] as const;

/** Returns undefined when none is set. Throws ConfigError when only some are. */
export function toInternalTls(
  files: Readonly<Record<(typeof NAMES)[number], string | undefined>>,
): InternalTls | undefined {
  const { INTERNAL_TLS_CA: ca, INTERNAL_TLS_CERT: cert, INTERNAL_TLS_KEY: key } = files;
  if (ca !== undefined && cert !== undefined && key !== undefined) return { ca, cert, key };
  const missing = NAMES.filter((name) => files[name] === undefined);
  if (missing.length === NAMES.length) return undefined;
  throw new ConfigError(`${missing.join(' and ')} must be set too: ${list(NAMES)} belong together`);
}

interface InternalConnection {
  readonly grpcHost: string;
  readonly servers: readonly ServerAddress[] | undefined;
  readonly internalTls: InternalTls | undefined;
}

/** Throws ConfigError when the connection leaves this machine without TLS. */
export function checkInternalTls({ grpcHost, servers = [], internalTls }: InternalConnection): void {
  if (internalTls !== undefined) return;
  const remote = servers.find(({ host }) => !isLoopback(host));
  if (!isLoopback(grpcHost)) throw needsTls('GRPC_HOST', grpcHost);
  if (remote !== undefined) throw needsTls('SERVERS', remote.host);
}

function needsTls(name: string, host: string): ConfigError {
  const needed = `set ${list(NAMES)}: beyond loopback edge and servers speak mutual TLS only`;
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

function list(names: readonly string[]): string {
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
