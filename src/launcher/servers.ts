/**
 * The servers in Envoy's configuration: those that the launcher starts, or those of SERVERS. Envoy resolves names
 * regularly, and each address is a server.
 *
 * With TLS, a server needs a certificate for its name or address in SERVERS. So the holder of another certificate of
 * the same authority, such as an edge's, can't act as a server.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { CALL_TIMEOUT_MS } from '../config/constants.ts';
import { type Config, grpcPorts, type ServerAddress } from '../config.ts';
import { HEDGE_DELAY_MS } from '../edge/envoy-values.ts';

/** The metadata of an endpoint by which Envoy selects its TLS context. */
const TLS_MATCH = 'envoy.transport_socket_match';
const TLS_TYPES = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3';

/** The servers in SERVERS, or those of this machine. */
export function listServers(config: Config): readonly ServerAddress[] {
  return config.servers ?? grpcPorts(config).map((port) => ({ host: '127.0.0.1', port }));
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

export function endpoints(config: Config) {
  return listServers(config).map(({ host, port }) => ({
    endpoint: { address: { socket_address: { address: host, port_value: port } } },
    ...(config.internalTls && { metadata: { filter_metadata: { [TLS_MATCH]: { host } } } }),
  }));
}

/** A TLS context for each host. `secrets` are the files of Envoy's certificate and of the authority. */
export function serverTls(config: Config, secrets: { readonly own: string; readonly authority: string }) {
  const fromFile = (name: string, path: string) => ({
    name,
    sds_config: { resource_api_version: 'V3', path_config_source: { path } },
  });
  return [...new Set(listServers(config).map(({ host }) => host))].map((host) => {
    const { san, sni } = certificateName(host);
    const validation = {
      default_validation_context: { match_typed_subject_alt_names: [san] },
      validation_context_sds_secret_config: fromFile('internal_ca', secrets.authority),
    };
    const common = {
      alpn_protocols: ['h2'],
      tls_params: { tls_minimum_protocol_version: 'TLSv1_3', tls_maximum_protocol_version: 'TLSv1_3' },
      tls_certificate_sds_secret_configs: [fromFile('internal', secrets.own)],
      combined_validation_context: validation,
    };
    const context = { '@type': `${TLS_TYPES}.UpstreamTlsContext`, ...sni, common_tls_context: common };
    const socket = { name: 'envoy.transport_sockets.tls', typed_config: context };
    return { name: host, match: { host }, transport_socket: socket };
  });
}

/** The name that a certificate must have. A handshake has no SNI for IP addresses (RFC 6066, section 3). */
function certificateName(host: string) {
  if (isIP(host) === 0) {
    const name = host.replace(/\.$/, '').toLowerCase();
    return { san: { san_type: 'DNS', matcher: { exact: name } }, sni: { sni: name } };
  }
  const address = ipaddr.parse(host);
  const text = address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString();
  return { san: { san_type: 'IP_ADDRESS', matcher: { exact: text } }, sni: {} };
}
