/** Lists of IP networks in settings. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { list } from './checks.ts';

/** The addresses that share a prefix of `bits` bits. */
export interface Network {
  readonly address: string;
  readonly bits: number;
}

/** Parses addresses and networks, separated by commas. */
export const toNetworks = list(
  toNetwork,
  'list IP addresses or networks after commas, such as 10.0.0.7,10.1.0.0/16,fd00::/8',
);

/** Returns undefined for anything but a network, for 10.1.0.7/16, which has a mistake, and for all addresses (/0). */
function toNetwork(text: string): Network | undefined {
  const [address = ''] = text.split('/', 1);
  const version = isIP(address); // ipaddr.js accepts 10.1 and 0xa000001 too
  const cidr = text === address ? `${text}/${version === 4 ? 32 : 128}` : text;
  if (version === 0 || address.includes('%') || !ipaddr.isValidCIDR(cidr)) return undefined;
  const [given, bits] = ipaddr.parseCIDR(cidr);
  const { IPv4, IPv6 } = ipaddr;
  const first = (version === 4 ? IPv4 : IPv6).networkAddressFromCIDR(cidr).toString();
  return bits > 0 && first === given.toString() ? { address: first, bits } : undefined;
}
