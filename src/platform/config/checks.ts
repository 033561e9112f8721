/** Parsers of settings. Each returns the value, or what the text should have been. */
import { isIP, isIPv4, isIPv6 } from 'node:net';
import { resolve } from 'node:path';
import ipaddr from 'ipaddr.js';
import { NAME } from '../../identity.ts';
import { Expected, type Parser } from './setting.ts';

/** Counts are 32-bit integers in the database and in protobuf. */
const MAX_COUNT = 2_147_483_647;
/** At the end of a REDIS_URL: the address is a node of a cluster. */
const CLUSTER = '?cluster=true';

/** `REDIS_URL`: the address of a server, or of nodes of a cluster. */
export interface RedisConfig {
  /** One URL per address, each with user, password and database number if there are any. */
  readonly urls: readonly [string, ...string[]];
  /** Whether they are nodes of a cluster, which know the other nodes. */
  readonly isCluster: boolean;
}

/** Parses a whole number from `min` to `max`. `what` names it in an error: "port". */
export function wholeNumber(what: string, max: number, min = 1): Parser<number> {
  return (text) => {
    const value = Number(text);
    const isRight = /^\d+$/.test(text) && value >= min && value <= max;
    return isRight ? value : new Expected(`be a ${what} from ${min} to ${max}`);
  };
}

export const toCount = wholeNumber('number', MAX_COUNT);
export const toPort = wholeNumber('port', 65_535);

export function oneOf<T extends string>(...values: readonly T[]): Parser<T> {
  return (text) => values.find((value) => value === text) ?? new Expected(`be one of ${values.join(', ')}`);
}

function textThat(isRight: (text: string) => boolean, expected: string): Parser<string> {
  return (text) => (isRight(text) ? text : new Expected(expected));
}

export const toText: Parser<string> = (text) => text;
export const toPath: Parser<string> = (text) => resolve(text);
export const toAddress = textThat((text) => isIP(text) !== 0, 'be an IP address, such as 127.0.0.1 or 0.0.0.0');
export const toHost = textThat((text) => isHost(text) || isIPv6(text), 'be an IP address or a name of this machine');
export const toSecret = textThat((text) => /^[\x21-\x7e]{16,}$/.test(text), 'be at least 16 visible ASCII characters');

/** The parameters of a DATABASE_URL that pg and psql understand. pg ignores others, and an unknown or empty sslmode. */
const DATABASE_PARAMETERS: Readonly<Record<string, RegExp>> = {
  ...{ ssl: /^true$/, sslmode: /^(disable|prefer|require|verify-ca|verify-full)$/ },
  ...{ sslrootcert: /./, sslcert: /./, sslkey: /./, options: /./, host: /./, port: /^\d+$/, application_name: /./ },
};

export const toDatabaseUrl = textThat(
  (text) => {
    const url = parseUrl(text, ['postgres:', 'postgresql:']);
    if (url === undefined || !canDecode(url.pathname) || url.hash !== '') return false;
    return [...url.searchParams].every(([name, value]) => DATABASE_PARAMETERS[name]?.test(value));
  },
  `look like postgres://user:password@host:5432/name, with no parameters but ${Object.keys(DATABASE_PARAMETERS)}`,
);

/** Parses entries between commas. `parse` returns undefined for what is none. */
function list<T>(parse: (entry: string) => T | undefined, expected: string): Parser<readonly T[]> {
  return (text) => {
    const all = text.split(',').map((entry) => parse(entry.trim()));
    return all.every((one) => one !== undefined) ? [...new Set(all)] : new Expected(expected);
  };
}

export const toYesOrNo: Parser<boolean> = (text) =>
  text === 'yes' || text === 'no' ? text === 'yes' : new Expected('be yes or no');

/** Schemes of which no page is. */
const NO_PAGES = ['file:', 'ftp:', 'ws:', 'wss:'];

/** An origin of HTTP, or of a page in an app or an extension, which has a scheme of its own: capacitor://localhost. */
function toOrigin(text: string): string | undefined {
  const url = /^[a-z][a-z\d+.-]*:\/\/[\w.:[\]-]+$/.test(text) ? URL.parse(text) : null;
  if (url === null || NO_PAGES.includes(url.protocol)) return undefined;
  const origin = url.origin === 'null' ? `${url.protocol}//${url.host}` : url.origin;
  return origin === text ? text : undefined;
}

const toOriginList = list(
  toOrigin,
  'be origins such as https://shop.example or capacitor://localhost, with commas between several, or *',
);

/** Origins as browsers send them (RFC 6454, section 6.2), so that they can be compared as strings. */
export const toOrigins: Parser<readonly string[]> = (text) => (text === '*' ? [text] : toOriginList(text));

/** The addresses that share a prefix of `bits` bits. */
export interface Network {
  readonly address: string;
  readonly bits: number;
}

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

/** The address of a server, or of several behind one name. */
export interface ServerAddress {
  /** A name, or an IP address without brackets. */
  readonly host: string;
  readonly port: number;
}

/** A DNS name. Some container networks use underscores in names. */
const DNS_NAME = /^(?=.{1,254}$)[a-z\d_][\w-]{0,62}(?<!-)(\.[a-z\d_][\w-]{0,62}(?<!-))*\.?$/i;

export const toServers = list(toServer, `be host:port, with commas between several, such as ${NAME}-0:50051`);

export function toServer(entry: string): ServerAddress | undefined {
  const [, inBrackets, plain, digits = ''] = /^(?:\[([\da-f:.]+)\]|([^:]+)):(\d+)$/i.exec(entry) ?? [];
  const port = toPort(digits);
  if (port instanceof Expected) return undefined;
  if (inBrackets !== undefined) return isIPv6(inBrackets) ? { host: inBrackets, port } : undefined;
  return plain !== undefined && isHost(plain) ? { host: plain, port } : undefined;
}

/** Whether it is a name or an IPv4 address. A last label of digits is one, or a mistake (RFC 3696, section 2). */
const isHost = (text: string) => isIPv4(text) || (DNS_NAME.test(text) && !/(^|\.)\d+$/.test(text));

/** The URL of an OTLP/HTTP collector, without a trailing slash. */
export function toCollector(text: string): string | Expected {
  const isRight = parseUrl(text, ['http:']) !== undefined && !/[?#@]/.test(text);
  return isRight ? text.slice(0, text.endsWith('/') ? -1 : undefined) : new Expected('look like http://127.0.0.1:4318');
}

export function toRatio(text: string): number | Expected {
  const value = Number(text);
  const isRight = /^(\d+|\d*\.\d+)$/.test(text) && value > 0 && value <= 1;
  return isRight ? value : new Expected('be a number above 0, and 1 at the most');
}

/** Several addresses, separated by commas, are nodes of a cluster. So is one with `?cluster=true`. */
export function toRedis(text: string): RedisConfig | Expected {
  const isDeclared = text.endsWith(CLUSTER);
  const [first = '', ...others] = (isDeclared ? text.slice(0, -CLUSTER.length) : text).split(',');
  const isCluster = isDeclared || others.length > 0;
  // Only the first address needs a scheme and a password: the others have the same.
  const prefix = /^[^/]*\/\/([^@/]*@)?/.exec(first)?.[0] ?? '';
  const urls = [first, ...others.map((node) => (node.includes('//') ? node : prefix + node))] as const;
  // An "@" in a node without a scheme is the end of a password with a comma. A cluster has one database.
  const isMisread = others.some((node) => /^[^/]*@/.test(node));
  if (isMisread || !urls.every((url) => isRedisUrl(url, isCluster ? /^\/?0*$/ : /^(\/\d*)?$/))) {
    return new Expected(
      'look like redis://user:password@host:6379/0, or like redis://:password@a:6379,b:6379 for a cluster, with no ' +
        'parameter but ?cluster=true; %2C is a comma in a password',
    );
  }
  const isSame = (url: string) => URL.parse(url)?.protocol === URL.parse(first)?.protocol;
  if (!urls.every(isSame)) return new Expected('be redis:// for all nodes, or rediss:// for all');
  return { urls, isCluster };
}

/** The client throws for what is no text in percent-encoding, and for a database that is no number. */
function isRedisUrl(text: string, path: RegExp): boolean {
  const url = /[?#]/.test(text) ? undefined : parseUrl(text, ['redis:', 'rediss:']);
  return url !== undefined && [url.username, url.password].every(canDecode) && path.test(url.pathname);
}

function parseUrl(text: string, protocols: readonly string[]): URL | undefined {
  const url = URL.parse(text);
  return url !== null && protocols.includes(url.protocol) && url.hostname !== '' ? url : undefined;
}

function canDecode(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined;
  } catch {
    return false;
  }
}

/** `host:port`, with brackets around an IPv6 address. */
export function formatAddress(host: string, port: number): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

/** An address at which this machine reaches a socket that listens on `host`, which may mean all addresses. */
export function toReachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}
