/** The ports: the public one, the one that redirects plain HTTP to HTTPS, and the one for statistics. */
import { NAME } from '../../src/identity.ts';
import type { EdgeConfig } from '../../src/platform/config/config.ts';
import { MAX_BODY_BYTES } from '../../src/platform/config/constants.ts';
import { connectionManager, publicConnectionManager, toRanges } from './connection-manager.ts';
import { ROUTER } from './filters.ts';
import { INVALID_HTTP, IS_ERROR } from './local-replies.ts';
import { extension, type Message, when } from './message.ts';
import { MAX_HEADERS_KB } from './overload.ts';
import { type Files, secretFromFile } from './servers.ts';

const TLS_CONTEXT = 'envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext';

const HTTP_INSPECTOR = listenerFilter('http_inspector', 'HttpInspector');
const TLS_INSPECTOR = listenerFilter('tls_inspector', 'TlsInspector');
const PROXY_PROTOCOL = listenerFilter('proxy_protocol', 'ProxyProtocol');

function listenerFilter(name: string, type: string): Message {
  return extension(`envoy.filters.listener.${name}`, `envoy.extensions.filters.listener.${name}.v3.${type}`);
}

export function publicListener(config: EdgeConfig, files: Files): Message {
  return {
    ...listener('public', config.host, config.port),
    per_connection_buffer_limit_bytes: MAX_BODY_BYTES / 2,
    // The inspectors close connections that send nothing, before these cost anything.
    listener_filters: [
      ...when(config.proxyProtocol, PROXY_PROTOCOL),
      config.tls === undefined ? HTTP_INSPECTOR : TLS_INSPECTOR,
    ],
    listener_filters_timeout: '5s',
    filter_chains: [
      {
        name: 'public',
        filter_chain_match: fromProxies(config),
        transport_socket: config.tls && extension('envoy.transport_sockets.tls', TLS_CONTEXT, publicTls(files)),
        transport_socket_connect_timeout: config.tls && '10s',
        filters: [publicConnectionManager(config, files)],
      },
    ],
  };
}

/**
 * How much of a connection the kernel holds until Envoy reads it. The inspectors look at a request line or a TLS hello
 * again and again until it is complete, and Linux has a piece for each packet. With its own bound, megabytes, 60 KB
 * that come byte by byte cost a second of CPU time, and 20 such connections had both of Envoy's threads. With this one
 * it joins the pieces. The numbers are those of SOL_SOCKET and SO_RCVBUF on Linux.
 */
const RECEIVE_BUFFER = { level: 1, name: 8, int_value: 131_072, state: 'STATE_PREBIND' };

/**
 * How long a peer may acknowledge nothing of what was sent, in ms. Without it a stream of events whose reader has
 * vanished (no power, another network) stays among the streams of its account for the 15 minutes in which Linux tries
 * again. The numbers are those of IPPROTO_TCP and TCP_USER_TIMEOUT. Each connection has what its port has.
 */
const UNACKNOWLEDGED = { level: 6, name: 18, int_value: 30_000, state: 'STATE_LISTENING' };

function listener(name: string, address: string, port_value: number): Message {
  return {
    name,
    address: { socket_address: { address, port_value } },
    // One by one: who connects again and again delays the open connections of others by one connection at a time.
    max_connections_to_accept_per_socket_event: 1,
    socket_options: when(process.platform === 'linux', RECEIVE_BUFFER, UNACKNOWLEDGED),
  };
}

/** With the PROXY protocol only trusted proxies may connect, because they state the caller's address. */
function fromProxies({ proxyProtocol, trustedProxies }: EdgeConfig): Message | undefined {
  return proxyProtocol ? { direct_source_prefix_ranges: trustedProxies.flatMap(toRanges) } : undefined;
}

/** TLS 1.2 and 1.3 with modern ciphers, as is Envoy's default. */
function publicTls(files: Files): Message {
  return {
    common_tls_context: {
      alpn_protocols: ['h2', 'http/1.1'],
      tls_params: {
        // Envoy's defaults without SHA-1, which it would use for a caller that offers nothing else.
        signature_algorithms: [
          'ecdsa_secp256r1_sha256',
          'ecdsa_secp384r1_sha384',
          'ecdsa_secp521r1_sha512',
          'rsa_pss_rsae_sha256',
          'rsa_pss_rsae_sha384',
          'rsa_pss_rsae_sha512',
          'rsa_pkcs1_sha256',
          'rsa_pkcs1_sha384',
          'rsa_pkcs1_sha512',
        ],
      },
      // The launcher replaces this file when the certificate is renewed.
      tls_certificate_sds_secret_configs: [secretFromFile('public', files)],
    },
  };
}

/** HTTP/1.1 by routes alone. */
function routing(name: string, routes: readonly Message[], fields: Message): Message {
  return connectionManager(name, {
    codec_type: 'HTTP1',
    common_http_protocol_options: { idle_timeout: '5s', max_headers_count: 100 },
    max_request_headers_kb: MAX_HEADERS_KB, // by itself 60: overload.ts counts with this for all connections
    request_headers_timeout: '10s',
    request_timeout: '10s',
    stream_idle_timeout: '10s',
    http_filters: [ROUTER],
    route_config: { name, virtual_hosts: [{ name, domains: ['*'], routes }] },
    ...fields,
  });
}

/** A name or an IPv6 address, and perhaps a port: what a Location can be made of (RFC 9110, section 7.2). */
const HOST = "([\\w.~!$&'()*+;=%-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]*)?";
const HAS_HOST = { name: ':authority', string_match: { safe_regex: { regex: HOST } } };

/** Redirects plain HTTP to HTTPS. It can't protect what a caller has already sent in plain text, such as an API key. */
export function redirectListener(config: EdgeConfig, httpPort: number): Message {
  const isDefaultPort = config.port === 443;
  const redirect = {
    https_redirect: true,
    response_code: 'PERMANENT_REDIRECT',
    port_redirect: isDefaultPort ? undefined : config.port,
  };
  const routes = [
    { match: { prefix: '/', headers: [HAS_HOST] }, redirect },
    { match: { prefix: '/' }, direct_response: { status: 400 } },
  ];
  const filter = routing('redirect', routes, {
    server_name: NAME,
    // An https URL without a port.
    strip_any_host_port: isDefaultPort ? true : undefined,
    http_protocol_options: { allow_chunked_length: false },
    local_reply_config: { mappers: [{ filter: IS_ERROR, status_code: 400, body_format_override: INVALID_HTTP }] },
  });
  return {
    ...listener('redirect', config.host, httpPort),
    per_connection_buffer_limit_bytes: 65_536,
    listener_filters: [...when(config.proxyProtocol, PROXY_PROTOCOL), HTTP_INSPECTOR],
    listener_filters_timeout: '5s',
    filter_chains: [{ name: 'redirect', filter_chain_match: fromProxies(config), filters: [filter] }],
  };
}

/**
 * Envoy's statistics, read-only, for everybody who can connect. Only requests for an address are answered, against DNS
 * rebinding: a web page whose name resolves to this machine gets nothing, because the browser sends that name.
 */
export function statisticsListener({ envoyAdminHost, envoyAdminPort }: EdgeConfig): Message {
  const ownAddress = '(?i)localhost|[1-9][0-9.]*|\\[[0:.]*[1-9a-f][0-9a-f:.]*\\]';
  // A filter may be a name, and is no pattern: Envoy would match it on the thread that says whether Envoy is alive.
  const path = '/stats(/prometheus)?(\\?[\\w.^$=&]*)?';
  const headers = [
    { name: ':method', string_match: { exact: 'GET' } },
    { name: ':path', string_match: { safe_regex: { regex: path } } },
    { name: ':authority', string_match: { safe_regex: { regex: ownAddress } } },
  ];
  const routes = [{ match: { prefix: '/', headers }, route: { cluster: 'admin', timeout: '10s' } }];
  const limit = extension(
    'envoy.filters.network.connection_limit',
    'envoy.extensions.filters.network.connection_limit.v3.ConnectionLimit',
    { stat_prefix: 'statistics', max_connections: 512 },
  );
  // Each takes the same thread some 6 ms.
  const rate = extension(
    'envoy.filters.http.local_ratelimit',
    'envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit',
    {
      stat_prefix: 'statistics',
      token_bucket: { max_tokens: 50, tokens_per_fill: 10, fill_interval: '1s' },
      filter_enabled: { default_value: { numerator: 100 } },
      filter_enforced: { default_value: { numerator: 100 } },
    },
  );
  const filter = routing('statistics', routes, {
    http_filters: [rate, ROUTER],
    strip_any_host_port: true,
    max_request_headers_kb: 8,
    request_headers_timeout: '2s',
  });
  return {
    ...listener('statistics', envoyAdminHost, envoyAdminPort),
    per_connection_buffer_limit_bytes: 65_536,
    // Statistics are needed most when there is too much of everything else.
    ignore_global_conn_limit: true,
    bypass_overload_manager: true,
    filter_chains: [{ filters: [limit, filter] }],
  };
}
