/**
 * The servers in Envoy's configuration: those that the launcher starts, or those of SERVERS. Envoy resolves names
 * regularly, and each address is a server.
 *
 * With TLS, a server needs a certificate for its name or address in SERVERS. So the holder of another certificate of
 * the same authority, such as an edge's, can't act as a server.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type Config, portsOf, type ServerAddress } from '../../src/platform/config/config.ts';
import { CALL_TIMEOUT_MS } from '../../src/platform/config/times.ts';
import { extension, type Message } from './message.ts';

/** Where Envoy finds and leaves its files: paths. */
export interface Files {
  /** The repository. */
  readonly root: string;
  readonly adminSocket: string;
  /** Undefined: stdout. */
  readonly accessLog: string | undefined;
  /** The certificates by their names: `public`, `internal` and `internal_ca`. */
  secret(name: string): string;
}

/** The metadata of an endpoint by which Envoy selects its TLS context. */
const TLS_MATCH = 'envoy.transport_socket_match';
const TLS_CONTEXT = 'envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext';

/**
 * When a read has no response after this time, Envoy sends it to a second server too (hedging) and uses the first
 * response: the first server may be frozen, or only slow. Writes are never hedged.
 */
const HEDGE_DELAY_MS = 1_500;

/** The servers in SERVERS, or those of this machine. */
export function listServers(config: Config): readonly ServerAddress[] {
  return config.servers ?? portsOf(config, config.grpcPort).map((port) => ({ host: '127.0.0.1', port }));
}

/**
 * When Envoy hedges a read. With a single server there is no other to send it to, so the delay is the deadline of the
 * call. A host name may stand for several servers.
 */
export function hedgeDelayMs(config: Config): number {
  const [first, ...others] = listServers(config);
  const isSingle = others.length === 0 && first !== undefined && isIP(first.host) !== 0;
  return isSingle ? CALL_TIMEOUT_MS : HEDGE_DELAY_MS;
}

export function endpoints(config: Config): readonly Message[] {
  return listServers(config).map(({ host, port }) => ({
    endpoint: { address: { socket_address: { address: host, port_value: port } } },
    metadata: config.internalTls && { filter_metadata: { [TLS_MATCH]: { host } } },
  }));
}

/** With INTERNAL_TLS_CA: a TLS context for each host, with the certificate that its servers must have. */
export function serverTls(config: Config, files: Files): readonly Message[] {
  if (config.internalTls === undefined) return [];
  return [...new Set(listServers(config).map(({ host }) => host))].map((host) => {
    const { san, sni } = certificateName(host);
    const context = {
      sni,
      common_tls_context: {
        alpn_protocols: ['h2'],
        tls_params: { tls_maximum_protocol_version: 'TLSv1_3' }, // the only one that servers accept
        tls_certificate_sds_secret_configs: [secretFromFile('internal', files)],
        combined_validation_context: {
          default_validation_context: { match_typed_subject_alt_names: [san] },
          validation_context_sds_secret_config: secretFromFile('internal_ca', files),
        },
      },
    };
    const transport_socket = extension('envoy.transport_sockets.tls', TLS_CONTEXT, context);
    return { name: host, match: { host }, transport_socket };
  });
}

/** A certificate that Envoy reads from a file, and again when the file is replaced. */
export function secretFromFile(name: string, files: Files): Message {
  const sds_config = { resource_api_version: 'V3', path_config_source: { path: files.secret(name) } };
  return { name, sds_config };
}

/** The name that a certificate must have. A handshake has no SNI for IP addresses (RFC 6066, section 3). */
function certificateName(host: string) {
  if (isIP(host) === 0) {
    const name = host.replace(/\.$/, '').toLowerCase();
    return { san: { san_type: 'DNS', matcher: { exact: name } }, sni: name };
  }
  const address = ipaddr.parse(host);
  const text = address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString();
  return { san: { san_type: 'IP_ADDRESS', matcher: { exact: text } }, sni: undefined };
}
