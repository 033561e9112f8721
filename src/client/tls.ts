/** TLS of a client. */
import { isIP } from 'node:net';
import { type ChannelCredentials, type ChannelOptions, credentials } from '@grpc/grpc-js';

/** Certificates and keys are PEM: the text of a file, or its bytes. */
export interface TlsOptions {
  /** The authorities that may have signed the server's certificate. Default: the well-known ones. */
  readonly ca?: string | Uint8Array;
  /** The client's certificate chain, for a server that requires one. */
  readonly cert?: string | Uint8Array;
  /** The private key of `cert`. */
  readonly key?: string | Uint8Array;
  /** A name in the server's certificate. Default: the host of `address`. Required when that is an IP address. */
  readonly serverName?: string;
}

interface Security {
  readonly credentials: ChannelCredentials;
  readonly options: ChannelOptions;
}

/**
 * Throws when a certificate or key can't be parsed, when `cert` or `key` is missing, or when the server has no
 * name.
 */
export function security(address: string, tls: boolean | TlsOptions): Security {
  if (tls === false) return { credentials: credentials.createInsecure(), options: {} };
  const { ca, cert, key, serverName }: TlsOptions = tls === true ? {} : tls;
  // Node rejects an IP address as the name in a TLS handshake (RFC 6066, section 3), and grpc-js would use it.
  const host = address.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  if (serverName === undefined && isIP(host)) {
    throw new TypeError(`tls.serverName must say a name of the server's certificate, because ${host} is an IP address`);
  }
  return {
    credentials: credentials.createSsl(toBuffer(ca), toBuffer(key), toBuffer(cert)),
    options: serverName === undefined ? {} : { 'grpc.ssl_target_name_override': serverName },
  };
}

function toBuffer(pem: string | Uint8Array | undefined): Buffer | null {
  return pem === undefined ? null : Buffer.from(pem);
}
