/** The address that a call comes from, as the limits count it. */
import { isIPv6 } from 'node:net';
import type { Metadata } from '@grpc/grpc-js';
import ipaddr from 'ipaddr.js';

interface AddressedCall {
  readonly metadata: Metadata;
  /** The address at the other end of the connection, `host:port`. */
  readonly peer: () => string;
}

/**
 * The caller's address: an IPv4 address, or the /64 prefix of an IPv6 address.
 *
 * Only Envoy and trusted hosts reach the private port (by loopback or mutual TLS), so the last entry of X-Forwarded-For
 * is true: Envoy sets it to the one address that it has verified.
 */
export function addressOf({ metadata, peer }: AddressedCall): string {
  const forwarded = metadata.get('x-forwarded-for').at(-1);
  const last = typeof forwarded === 'string' ? forwarded.slice(forwarded.lastIndexOf(',') + 1).trim() : '';
  return normalize(last || peer().replace(/:\d+$/, ''));
}

/** A caller controls a whole /64 of IPv6 addresses, so a /64 counts as one. An IPv4-mapped address is IPv4. */
function normalize(address: string): string {
  if (!isIPv6(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return `${new ipaddr.IPv6([...parsed.parts.slice(0, 4), 0, 0, 0, 0])}/64`;
}
