/** Every setting, in the order of docs/settings.md, which is generated from here. */
import { fileURLToPath } from 'node:url';
import {
  toAddress,
  toCollector,
  toCount,
  toDatabaseUrl,
  toLogLevel,
  toLogs,
  toOperatorKey,
  toOrigins,
  toPath,
  toPort,
  toRatio,
  toRedis,
  toSampler,
  toServers,
  toYesOrNo,
  wholeNumber,
} from './checks.ts';
import { toNetworks } from './networks.ts';
import { optional, type Setting, setting } from './setting.ts';

/** A year. */
const MAX_HOURS = 8_760;
/** Far more than one machine has use for. */
const MAX_INSTANCES = 64;
const MAX_CONNECTIONS = 1_000;
const MAX_LOG_FILES = 1_000;

const DATA_DIR = fileURLToPath(new URL('../../data', import.meta.url));

const PORTS = {
  PORT: setting({
    about: 'The public port: REST, gRPC, gRPC-Web and Connect.',
    fallback: '8080',
    parse: toPort,
  }),
  HOST: setting({
    about: "The address that the public port listens on; `0.0.0.0` is every one of the machine's.",
    fallback: '127.0.0.1',
    parse: toAddress,
  }),
  TRUSTED_PROXIES: optional({
    about:
      'The proxies and load balancers before the public port, addresses or networks after commas: who calls through ' +
      'them is known by the `X-Forwarded-For` that they send. [edge.md](edge.md) has more.',
    fallbackInWords: 'none: nobody is believed',
    parse: toNetworks,
  }),
  PROXY_PROTOCOL: setting({
    about:
      'Whether each connection to the public port, and to `HTTP_PORT`, begins with a PROXY protocol header, version 1 ' +
      'or 2. It needs `TRUSTED_PROXIES`, and only those can connect then. `1` means `yes`.',
    fallback: 'no',
    parse: (text) => text === '1' || toYesOrNo(text),
  }),
  GRPC_PORT: setting({
    about: "The gRPC server's private port.",
    fallback: '50051',
    parse: toPort,
  }),
  INSTANCES: setting({
    about:
      'How many servers run behind Envoy, on `GRPC_PORT` and the ports after it. ' +
      'More than one need `DATABASE_URL` and `REDIS_URL`.',
    fallback: '1',
    parse: wholeNumber('number', MAX_INSTANCES),
  }),
  ENVOY_ADMIN_PORT: setting({
    about: "Envoy's statistics, read-only, on loopback: `/stats` and `/stats/prometheus`.",
    fallback: '9901',
    parse: toPort,
  }),
  ENVOY: optional({
    about: 'The path of another Envoy binary.',
    fallbackInWords: 'the pinned one',
    parse: (text) => text,
  }),
};

const EDGE = {
  TLS_CERT: optional({
    about:
      'The certificate of the public port, a PEM file, with those between it and its authority after it. Set with ' +
      '`TLS_KEY` it makes the port speak TLS 1.2 and 1.3 and nothing else. A renewed file is used without a restart. ' +
      '[TLS](edge.md#tls).',
    fallbackInWords: 'no TLS',
    parse: toPath,
  }),
  TLS_KEY: optional({
    about: 'The private key of `TLS_CERT`, a PEM file without a passphrase.',
    fallbackInWords: 'no TLS',
    parse: toPath,
  }),
  HTTP_PORT: optional({
    about:
      'A port for plain HTTP that sends callers to HTTPS on `PORT` (308), and does nothing else. With it browsers are ' +
      'told to come over HTTPS from then on (HSTS).',
    fallbackInWords: 'none',
    parse: toPort,
  }),
  CORS_ORIGINS: optional({
    about:
      'Whose pages may call the service in a browser, with commas between several: `https://shop.example`. `*` is ' +
      'every page. [Browsers](edge.md#pages-of-other-origins).',
    fallbackInWords: 'only its own',
    parse: toOrigins,
  }),
};

/** Of servers and edges that run alone. */
const HOSTS = {
  GRPC_HOST: setting({
    about:
      'The address that a server alone (`npm run server`) listens on. One that is not loopback needs `INTERNAL_TLS_CA`, ' +
      '`INTERNAL_TLS_CERT` and `INTERNAL_TLS_KEY`. See [hosts](hosts.md).',
    fallback: '127.0.0.1',
    parse: toAddress,
  }),
  SERVERS: optional({
    about:
      'The servers of an edge alone (`npm run edge`): `host:port`, with commas between them. A name may have several ' +
      'addresses, which are a server each. Those that are not loopback need `INTERNAL_TLS_CA`, `INTERNAL_TLS_CERT` and ' +
      '`INTERNAL_TLS_KEY`.',
    fallbackInWords: '`127.0.0.1` and `GRPC_PORT`',
    parse: toServers,
  }),
  INTERNAL_TLS_CA: optional({
    about: 'The PEM file of the authority that edge and servers alone know each other by. It is for nothing else.',
    fallbackInWords: 'none: no TLS, and loopback alone',
    parse: toPath,
  }),
  INTERNAL_TLS_CERT: optional({
    about:
      'The PEM file of their own certificate. A server has one for the name or address by which `SERVERS` names it.',
    fallbackInWords: 'none',
    parse: toPath,
  }),
  INTERNAL_TLS_KEY: optional({
    about: 'The PEM file of its private key.',
    fallbackInWords: 'none',
    parse: toPath,
  }),
};

const STORAGE = {
  DATA_DIR: setting({
    about:
      'The folder of the SQLite file, the files of keys and the logs, of one service. It is closed to other users.',
    fallback: DATA_DIR,
    fallbackInWords: '`data`',
    parse: toPath,
  }),
  DATABASE_URL: optional({
    about: 'The PostgreSQL database, `postgres://user:password@host:port/name`. TLS with `?sslmode=verify-full`.',
    fallbackInWords: 'the SQLite file in `DATA_DIR`',
    isSecret: true,
    parse: toDatabaseUrl,
  }),
  DATABASE_CONNECTIONS: setting({
    about: 'How many connections each server has to PostgreSQL at most. Two fifths read, the others write.',
    fallback: '10',
    parse: wholeNumber('number', MAX_CONNECTIONS, 2),
  }),
  PREPARED_STATEMENTS: optional({
    about: 'Whether statements on PostgreSQL are prepared and kept by name.',
    fallbackInWords: '`yes`; `no` behind a pooler',
    parse: toYesOrNo,
  }),
  MIGRATE_AT_START: setting({
    about: "Whether a start brings the database's schema up to date. `no` leaves that to `npm run migrate`.",
    fallback: 'yes',
    parse: toYesOrNo,
  }),
  REDIS_URL: optional({
    about:
      'Where limits are counted for all servers: `redis://` or `rediss://` (TLS). A cluster: several nodes with commas ' +
      'between them, `redis://:password@a:6379,b:6379`, or one with `?cluster=true`.',
    fallbackInWords: "each server's memory",
    isSecret: true,
    parse: toRedis,
  }),
  USAGE_DAYS: setting({
    about: 'For how many days the usage of each account is kept, today not counted.',
    fallback: '400',
    parse: toCount,
  }),
  IDEMPOTENCY_HOURS: setting({
    about: 'For how many hours at least an answer is remembered under its `Idempotency-Key`.',
    fallback: '24',
    parse: wholeNumber('number', MAX_HOURS),
  }),
};

const KEYS = {
  OPERATOR_KEY: optional({
    about: "The key of the operator's service, at least 16 characters. All machines need the same one.",
    fallbackInWords: 'made at the first start, in `DATA_DIR/operator.key`',
    isSecret: true,
    parse: toOperatorKey,
  }),
  DEMO_ACCOUNT: optional({
    about: 'Whether a new database gets a demo account, with a key in `DATA_DIR/demo.key`.',
    fallbackInWords: '`yes`; `no` with `DATABASE_URL`',
    parse: toYesOrNo,
  }),
};

const LOGS = {
  LOGS: setting({
    about: 'Where an edge alone (`npm run edge`) logs: `files` in `DATA_DIR/logs`, or `stdout`, all as JSON lines.',
    fallback: 'files',
    parse: toLogs,
  }),
  LOG_LEVEL: setting({
    about: '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`. At `debug` each call is logged.',
    fallback: 'info',
    parse: toLogLevel,
  }),
  LOG_FILE: optional({
    about: "The log of a server that is started without the launcher. The launcher sets its servers' own.",
    fallbackInWords: 'stdout',
    parse: (text) => text,
  }),
  AUDIT_FILE: optional({
    about:
      'Where a server that is started without the launcher writes down what the operator does, whatever `LOG_LEVEL` ' +
      "is. The launcher's servers share `logs/audit.log` in `DATA_DIR`.",
    fallbackInWords: "the server's log",
    parse: (text) => text,
  }),
  LOG_MAX_BYTES: setting({
    about: 'The size from which on a log goes on in a new file.',
    fallback: '50000000',
    parse: toCount,
  }),
  LOG_FILES: setting({
    about: 'How many files of each log are kept, with the one that is written to.',
    fallback: '5',
    parse: wholeNumber('number', MAX_LOG_FILES),
  }),
};

const OBSERVABILITY = {
  METRICS_PORT: optional({
    about:
      'The port of metrics for Prometheus, `GET /metrics`, in plain HTTP without a key. ' +
      'With `INSTANCES` each server has one: this port and those after it.',
    fallbackInWords: 'off',
    parse: toPort,
  }),
  METRICS_HOST: setting({
    about: 'The address that `METRICS_PORT` is opened on. Others may see there how much the service is used.',
    fallback: '127.0.0.1',
    parse: toAddress,
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: optional({
    about: 'The collector that traces are sent to, over OTLP/HTTP (Protobuf): `http://127.0.0.1:4318`.',
    fallbackInWords: 'no traces',
    parse: toCollector,
  }),
  OTEL_TRACES_SAMPLER: setting({
    about:
      'Which requests are traced: `always_on`, or `traceidratio`, a share of them. With `parentbased_always_on` and ' +
      '`parentbased_traceidratio` callers who send `traceparent` decide for their own.',
    fallback: 'always_on',
    parse: toSampler,
  }),
  OTEL_TRACES_SAMPLER_ARG: setting({
    about: 'The share of requests that is traced by `traceidratio` and `parentbased_traceidratio`.',
    fallback: '1',
    parse: toRatio,
  }),
};

const LIMITS = {
  FREE_PER_MINUTE: count('Requests a minute on the Free plan.', '60'),
  FREE_PER_DAY: count('Requests a day on the Free plan.', '1000'),
  PRO_PER_MINUTE: count('Requests a minute on the Pro plan.', '300'),
  PRO_PER_DAY: count('Requests a day on the Pro plan.', '10000'),
  BUSINESS_PER_MINUTE: count('Requests a minute on the Business plan.', '1000'),
  BUSINESS_PER_DAY: count('Requests a day on the Business plan.', '100000'),
  ADDRESS_PER_MINUTE: count('Requests a minute without a valid key, for each IP address (an IPv6 /64 is one).', '60'),
  MAX_ADDRESSES: count('How many addresses are counted apart in one minute; those beyond share one count.', '100000'),
  BAN_REFUSALS: count('How many refusals within `BAN_WINDOW_SECONDS` ban a key.', '20'),
  BAN_WINDOW_SECONDS: count('The time in which refusals are counted for a ban, in seconds.', '60'),
  BAN_SECONDS: count('How long a ban lasts, in seconds.', '300'),
};

function count(about: string, fallback: string): Setting<number> {
  return setting({ about, fallback, parse: toCount });
}

/** The groups of docs/settings.md. */
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

export const SETTINGS = {
  ...PORTS,
  ...EDGE,
  ...HOSTS,
  ...STORAGE,
  ...KEYS,
  ...LOGS,
  ...OBSERVABILITY,
  ...LIMITS,
} as const;
