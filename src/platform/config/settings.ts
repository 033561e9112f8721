/** Every setting, in the order of docs/settings.md, which is generated from here. */
import { fileURLToPath } from 'node:url';
import {
  oneOf,
  toAddress,
  toCollector,
  toCount,
  toDatabaseUrl,
  toHost,
  toNetworks,
  toOrigins,
  toPath,
  toPort,
  toRatio,
  toRedis,
  toSecret,
  toServers,
  toText,
  toYesOrNo,
  wholeNumber,
} from './checks.ts';
import { optional, secret, setting } from './setting.ts';

const DATA_DIR = fileURLToPath(new URL('../../../data', import.meta.url));

const PORTS = {
  PORT: setting(toPort, '8080', 'The public port: REST, gRPC, gRPC-Web and Connect.'),
  HOST: setting(toAddress, '127.0.0.1', 'The address of the public port; `0.0.0.0` is every IPv4 address.'),
  TRUSTED_PROXIES: optional(
    toNetworks,
    'none: `X-Forwarded-For` is ignored',
    'The proxies and load balancers in front of the public port: addresses or networks, separated by commas. Their ' +
      '`X-Forwarded-For` tells the address of the caller. [edge.md](edge.md) has more.',
  ),
  PROXY_PROTOCOL: setting(
    toYesOrNo,
    'no',
    'Whether each connection to `PORT` and `HTTP_PORT` begins with a PROXY protocol header, version 1 or 2. Needs ' +
      '`TRUSTED_PROXIES`; no other address can connect then.',
  ),
  GRPC_PORT: setting(toPort, '50051', "The gRPC server's private port."),
  INSTANCES: setting(
    wholeNumber('number', 64),
    '1',
    'How many servers `npm start` runs, on `GRPC_PORT` and the ports after it. More than one needs `DATABASE_URL` ' +
      'and `REDIS_URL`.',
  ),
  ENVOY_ADMIN_PORT: setting(toPort, '9901', "Envoy's statistics: `/stats` and `/stats/prometheus`."),
  ENVOY_ADMIN_HOST: setting(
    toAddress,
    '127.0.0.1',
    'The address of `ENVOY_ADMIN_PORT`. Whoever can connect sees how much the service is used.',
  ),
  ENVOY: optional(toText, 'the pinned one', 'The path of another Envoy binary.'),
};

const EDGE = {
  TLS_CERT: optional(
    toPath,
    'no TLS',
    'The certificate chain of the public port, a PEM file: the certificate first, then the intermediates. ' +
      'A renewed file is used without a restart. [TLS](edge.md#tls).',
  ),
  TLS_KEY: optional(toPath, 'no TLS', 'The private key of `TLS_CERT`, a PEM file without a passphrase.'),
  HTTP_PORT: optional(toPort, 'none', 'A port for plain HTTP that redirects to HTTPS (308). Responses have HSTS then.'),
  CORS_ORIGINS: optional(
    toOrigins,
    'only its own',
    'The origins whose pages may call the service, separated by commas; `*` is every origin. ' +
      '[Browsers](edge.md#pages-of-other-origins).',
  ),
};

/** Settings of a standalone server or edge. */
const HOSTS = {
  GRPC_HOST: setting(
    toAddress,
    '127.0.0.1',
    'The address of a standalone server (`npm run server`). Any but loopback needs `INTERNAL_TLS_CA`.',
  ),
  SERVERS: optional(
    toServers,
    '`127.0.0.1` and `GRPC_PORT`',
    'The servers of a standalone edge (`npm run edge`): `host:port`, separated by commas. Each address that a name ' +
      'resolves to is a server. Any but loopback needs `INTERNAL_TLS_CA`.',
  ),
  EDGE_SECRET: secret(
    toSecret,
    'generated at each `npm start`',
    'By this secret a server recognizes its edges, whose `X-Forwarded-For` it believes: at least 16 characters. ' +
      '`npm run server` and `npm run edge` need the same one, unless they have `INTERNAL_TLS_CA`.',
  ),
  INTERNAL_TLS_CA: optional(
    toPath,
    'none: no TLS, and only loopback',
    'The certificate authority of standalone edges and servers, a PEM file. Use it for nothing else.',
  ),
  INTERNAL_TLS_CERT: optional(
    toPath,
    'none',
    "The edge's or server's own certificate, a PEM file. A server's is for its name or address in `SERVERS`.",
  ),
  INTERNAL_TLS_KEY: optional(toPath, 'none', 'The private key of `INTERNAL_TLS_CERT`, a PEM file.'),
};

const STORAGE = {
  DATA_DIR: {
    ...setting(toPath, DATA_DIR, 'The folder of the SQLite file, the keys and the logs. One service uses it.'),
    fallbackInWords: '`data`',
  },
  DATABASE_URL: secret(
    toDatabaseUrl,
    'the SQLite file in `DATA_DIR`',
    'The PostgreSQL database, `postgres://user:password@host:port/name`. TLS with `?sslmode=verify-full`.',
  ),
  DATABASE_CONNECTIONS: setting(
    wholeNumber('number', 1_000, 2),
    '10',
    'The most connections of each server to PostgreSQL. Two fifths are for reads, the others for writes.',
  ),
  PGBOUNCER: setting(toYesOrNo, 'no', 'Whether `DATABASE_URL` leads to [PgBouncer](operations.md#pgbouncer).'),
  MIGRATE_AT_START: setting(toYesOrNo, 'yes', 'Whether a start migrates the database, or only `npm run migrate`.'),
  REDIS_URL: secret(
    toRedis,
    "each server's memory",
    'The Redis that counts limits for all servers: `redis://` or `rediss://` (TLS). For a cluster, several nodes ' +
      'separated by commas, `redis://:password@a:6379,b:6379`, or one with `?cluster=true`.',
  ),
  EVENTS_DAYS: setting(toCount, '30', 'How many days events are kept.'),
  USAGE_DAYS: setting(toCount, '400', 'How many days of usage are kept for each account, besides today.'),
  IDEMPOTENCY_HOURS: setting(
    wholeNumber('number', 365 * 24),
    '24',
    'How many hours, at least, a response is kept under its `Idempotency-Key`.',
  ),
};

const KEYS = {
  OPERATOR_KEY: secret(
    toSecret,
    'generated at the first start, in `DATA_DIR/operator.key`',
    "The operator's key for the admin service, at least 16 characters. All machines need the same one.",
  ),
  DEMO_ACCOUNT: optional(
    toYesOrNo,
    '`yes`; `no` with `DATABASE_URL`',
    'Whether a new database gets a demo account, with a key in `DATA_DIR/demo.key`.',
  ),
};

const LOGS = {
  LOGS: setting(
    oneOf('files', 'stdout'),
    'files',
    'Where a standalone edge logs: `files` in `DATA_DIR/logs`, or JSON on `stdout`.',
  ),
  LOG_LEVEL: setting(
    oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    'info',
    '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`. At `debug` each call is logged.',
  ),
  LOG_FILE: optional(toText, 'stdout', 'The log file of a standalone server.'),
  AUDIT_FILE: optional(toText, "the server's log", 'The audit log of a standalone server, at every `LOG_LEVEL`.'),
  LOG_MAX_BYTES: setting(toCount, '50000000', 'The size at which a log is rotated.'),
  LOG_FILES: setting(wholeNumber('number', 1_000, 2), '5', 'How many files of each log are kept.'),
};

const OBSERVABILITY = {
  METRICS_PORT: optional(
    toPort,
    'off',
    'The port of [metrics](observability.md#metrics) for Prometheus, plain HTTP. With `INSTANCES` each server has ' +
      'its own: this port and those after it.',
  ),
  METRICS_HOST: setting(
    toHost,
    '127.0.0.1',
    'The address of `METRICS_PORT`, or a name for it, by which it can then be scraped. Whoever can connect sees how ' +
      'much the service is used.',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: optional(
    toCollector,
    'no traces',
    'The collector of traces, over OTLP/HTTP (Protobuf): `http://127.0.0.1:4318`.',
  ),
  OTEL_TRACES_SAMPLER_ARG: setting(toRatio, '1', 'The share of requests that is traced.'),
};

const LIMITS = {
  FREE_PER_MINUTE: setting(toCount, '60', 'Requests a minute on the Free plan.'),
  FREE_PER_DAY: setting(toCount, '1000', 'Requests a day on the Free plan.'),
  PRO_PER_MINUTE: setting(toCount, '300', 'Requests a minute on the Pro plan.'),
  PRO_PER_DAY: setting(toCount, '10000', 'Requests a day on the Pro plan.'),
  BUSINESS_PER_MINUTE: setting(toCount, '1000', 'Requests a minute on the Business plan.'),
  BUSINESS_PER_DAY: setting(toCount, '100000', 'Requests a day on the Business plan.'),
  ADDRESS_PER_MINUTE: setting(toCount, '60', 'Requests a minute without a valid key, per IP address or IPv6 /64.'),
  ADDRESS_BURST: setting(toCount, '120', 'Requests at once from an address without a known key, at Envoy.'),
  ADDRESS_PER_SECOND: setting(toCount, '20', 'Requests a second that Envoy lets through after such a burst.'),
  STREAM_SECONDS: setting(toCount, '300', 'The maximum age of a health watch, reflection or file stream, in seconds.'),
  EVENT_STREAMS: setting(toCount, '10', 'Streams of events of an account: over all servers with Redis, else at each.'),
  EVENT_STREAM_SECONDS: setting(toCount, '3600', 'The maximum age of a stream of events, in seconds.'),
  BAN_REFUSALS: setting(toCount, '20', 'How many refused requests within `BAN_WINDOW_SECONDS` ban a key.'),
  BAN_WINDOW_SECONDS: setting(toCount, '60', 'How long refused requests count towards a ban, in seconds.'),
  BAN_GRACE_SECONDS: setting(
    wholeNumber('number', 60, 0),
    '2',
    'How long refusals do not count after the first one of a minute: they were on their way.',
  ),
  BAN_SECONDS: setting(toCount, '300', 'How long a ban lasts, in seconds.'),
};

export const SETTING_GROUPS = {
  'Ports and processes': PORTS,
  'The edge': EDGE,
  'Servers and edge on different hosts': HOSTS,
  'Storage and Redis': STORAGE,
  Keys: KEYS,
  Logs: LOGS,
  Observability: OBSERVABILITY,
  Limits: LIMITS,
} as const;

export const SETTINGS = { ...PORTS, ...EDGE, ...HOSTS, ...STORAGE, ...KEYS, ...LOGS, ...OBSERVABILITY, ...LIMITS };
