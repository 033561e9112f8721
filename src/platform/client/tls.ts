/** How a client connects: TLS, and a bound of the time that a new connection may take until the server speaks. */
import { isIP, type Socket } from 'node:net';
import { type ChannelCredentials, credentials } from '@grpc/grpc-js';

/** Certificates and keys are PEM: the text of a file, or its bytes. */
export interface TlsOptions {
  /** The authorities that may have signed the server's certificate. Default: the well-known ones. */
  readonly ca?: string | Uint8Array;
  /** The client's certificate chain, for a server that requires one. */
  readonly cert?: string | Uint8Array;
  readonly key?: string | Uint8Array;
  /** A name in the server's certificate. Default: the host of `address`. Required when that is an IP address. */
  readonly serverName?: string;
}

/** `https://host:port` or `http://host:port`. A path would be lost: gRPC has its own. */
const WITH_SCHEME = /^(https?):\/\/([^\s/?#@:]+|\[[\da-f:]+\])(:\d+)?\/?$/i;
/** grpc-js has these schemes itself: https://github.com/grpc/grpc/blob/master/doc/naming.md */
const HAS_SCHEME = /^(?!dns:|unix:)\w+:\/\//i;

/** What an address says of TLS. Throws when it is none, or when the option `tls` says otherwise. */
function parse(address: string, tls: boolean | TlsOptions | undefined) {
  if (!HAS_SCHEME.test(address)) return { target: address, tls: tls ?? false };
  const [, scheme, host, port] = WITH_SCHEME.exec(address) ?? [];
  const isSecure = scheme?.toLowerCase() === 'https';
  if (host === undefined || (tls !== undefined && isSecure !== (tls !== false))) {
    const forms = '"https://host" for TLS, "http://host" without, or "host:port" and the option tls';
    throw new TypeError(`address must be ${forms}; no path, user or other scheme`);
  }
  return { target: host + (port ?? (isSecure ? ':443' : ':80')), tls: isSecure && (tls ?? true) };
}

/** Throws for a bad address, certificate or key, for one of `cert` and `key` alone, or without a name of the server. */
export function security(address: string, given: boolean | TlsOptions | undefined) {
  const { target, tls } = parse(address, given);
  if (tls === false) return { target, credentials: boundHandshake(credentials.createInsecure()), options: {} };
  const { ca, cert, key, serverName }: TlsOptions = tls === true ? {} : tls;
  // Node rejects an IP address as the name in a TLS handshake (RFC 6066, section 3), and grpc-js would use it.
  const host = target.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  if (serverName === undefined && isIP(host)) {
    throw new TypeError(`tls.serverName must say a name of the server's certificate, because ${host} is an IP address`);
  }
  return {
    target,
    credentials: boundHandshake(credentials.createSsl(toBuffer(ca), toBuffer(key), toBuffer(cert))),
    options: serverName === undefined ? {} : { 'grpc.ssl_target_name_override': serverName },
  };
}

function toBuffer(pem: string | Uint8Array | undefined): Buffer | null {
  return pem === undefined ? null : Buffer.from(pem);
}

/** How long TLS and then the first HTTP/2 frame may take. */
const HANDSHAKE_MS = 10_000;

/**
 * Closes a new connection on which the server says nothing, so that another is opened. grpc-js would wait for its first
 * frame without end: one connection to a frozen machine behind a load balancer would hold up all later calls. (It has
 * no option for it, and this is no public method of it.)
 */
function boundHandshake(credentials: ChannelCredentials): ChannelCredentials {
  const create = credentials._createSecureConnector.bind(credentials);
  credentials._createSecureConnector = (...args) => {
    const connector = create(...args);
    const connect = connector.connect.bind(connector);
    connector.connect = (tcp) => {
      let socket: Socket | undefined;
      const endMute = () => {
        if (!socket?.bytesRead) tcp.destroy();
      };
      const timer = setTimeout(endMute, HANDSHAKE_MS).unref();
      const closed = new Promise<never>((_, reject) => {
        tcp.once('close', () => {
          clearTimeout(timer);
          reject(new Error('the connection was closed')); // during TLS grpc-js would not notice
        });
      });
      const secured = connect(tcp).then((result) => {
        ({ socket } = result);
        return result;
      });
      return Promise.race([secured, closed]);
    };
    return connector;
  };
  return credentials;
}
