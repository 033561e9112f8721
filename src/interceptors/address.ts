/** The address that a call comes from, as limits count it. */
import { isIPv6 } from 'node:net';
import type { Metadata } from '@grpc/grpc-js';
import ipaddr from 'ipaddr.js';

interface Addressed {
  readonly metadata: Metadata;
  readonly peer: () => string;
}

/**
 * The caller's address. The private port is reached by loopback or mutual TLS, by Envoy and nobody who is not trusted, so
 * the last entry of X-Forwarded-For can be believed: Envoy puts there the one address that it believes itself.
 */
export function addressOf({ metadata, peer }: Addressed): string {
  const forwarded = metadata.get('x-forwarded-for').at(-1);
  const last = typeof forwarded === 'string' ? forwarded.slice(forwarded.lastIndexOf(',') + 1).trim() : '';
  return subjectOf(last || peer().replace(/:\d+$/, ''));
}

/** One caller has a whole /64 of IPv6 addresses: it counts as one. An IPv4-mapped address is the IPv4 address. */
function subjectOf(address: string): string {
  if (!isIPv6(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return `${new ipaddr.IPv6([...parsed.parts.slice(0, 4), 0, 0, 0, 0])}/64`;
}
