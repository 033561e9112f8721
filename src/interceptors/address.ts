/** The address that a call comes from, as limits count it. */
import { isIPv6 } from 'node:net';
import type { Metadata } from '@grpc/grpc-js';

interface Addressed {
  readonly metadata: Metadata;
  readonly peer: () => string;
}

/**
 * The caller's address. Only Envoy, and whoever shares the machine with it, reaches the private port, so the
 * last entry of X-Forwarded-For, which Envoy adds, can be believed. What the caller wrote there comes before it.
 */
export function addressOf({ metadata, peer }: Addressed): string {
  const forwarded = metadata.get('x-forwarded-for').at(-1);
  const last = typeof forwarded === 'string' ? forwarded.split(',').at(-1)?.trim() : undefined;
  return subjectOf(last || peer().replace(/:\d+$/, ''));
}

/** One caller has a whole /64 of IPv6 addresses: it counts as one. */
function subjectOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.split('::');
  const groups = head.split(':');
  const zeros = tail === undefined ? [] : ['0', '0', '0', '0'];
  return `${[...groups, ...zeros].slice(0, 4).join(':')}::/64`;
}
