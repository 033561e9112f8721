/** Addresses as people and programs write them. */
import { isIPv6 } from 'node:net';

/** `host:port`, with brackets around an IPv6 address. */
export function formatAddress(host: string, port: number): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

/** An address at which this machine reaches a socket that listens on `host`, which may mean all addresses. */
export function toReachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}
