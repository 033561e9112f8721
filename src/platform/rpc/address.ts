/** The address that a call comes from, as the limits count it. */
import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * An IPv4 address, or the /64 prefix of an IPv6 address. `forwarded` is X-Forwarded-For, if it can be believed: Envoy
 * has verified its last entry. `peer` is the other end of the connection. All of 127.0.0.0/8 are one peer: any user of
 * this machine has 16 million of them.
 */
export function addressOf(forwarded: string | undefined, peer: () => string): string {
  const last = forwarded === undefined ? '' : forwarded.slice(forwarded.lastIndexOf(',') + 1).trim();
  if (last !== '') return normalize(last);
  const address = normalize(peer());
  return address.startsWith('127.') ? '127.0.0.1' : address;
}

/** A caller controls a whole /64 of IPv6 addresses, so a /64 counts as one. An IPv4-mapped address is IPv4. */
function normalize(withZone: string): string {
  const [address = ''] = withZone.split('%', 1); // RFC 4007: the zone is this machine's name of an interface
  if (!address.includes(':') || !isIPv6(address)) return address; // to ask takes Node a microsecond
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return `${new ipaddr.IPv6([...parsed.parts.slice(0, 4), 0, 0, 0, 0])}/64`;
}
