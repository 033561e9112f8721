/** Every setting of the server and its launcher: name, default, check. A bad one ends the start with one clear line. */
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BanPolicy } from './limits/bans.ts';
import type { Quota } from './limits/windows.ts';

export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** Counts fit into the database's and protobuf's 32 bits. */
const MAX_COUNT = 2_147_483_647;
const MAX_PORT = 65_535;
/** A year. */
const MAX_HOURS = 8_760;
const HOUR_MS = 3_600_000;
/** Far more than one machine has use for. */
const MAX_INSTANCES = 64;
const MAX_CONNECTIONS = 1_000;
const MAX_LOG_FILES = 1_000;
/** At the end of a REDIS_URL: this one address is a cluster's. */
const CLUSTER = '?cluster=true';

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface Config {
  /** The address that the public port listens on. Anything but loopback is a decision. */
  readonly host: string;
  /** Envoy's public port: REST, gRPC and gRPC-Web. */
  readonly port: number;
  /** The gRPC server's private port, on loopback; further instances take the ports after it. */
  readonly grpcPort: number;
  /** How many servers the launcher starts behind Envoy. More than one need PostgreSQL and Redis to share. */
  readonly instances: number;
  /** Where Envoy's statistics can be read, on loopback. */
  readonly envoyAdminPort: number;
  /** The folder of the SQLite file, the demo key and the logs. */
  readonly dataDir: string;
  /** The PostgreSQL database, `postgres://user:password@host:port/name`; undefined: the SQLite file in the data folder. */
  readonly databaseUrl: string | undefined;
  /** Connections of each server to PostgreSQL at the most. */
  readonly databaseConnections: number;
  /** Whether statements on PostgreSQL are prepared and kept; undefined: unless there is a pooler in between. */
  readonly preparedStatements: boolean | undefined;
  /** Whether a start brings the database's schema up to date, rather than leave that to `npm run migrate`. */
  readonly migrateAtStart: boolean;
  /** Where limits are counted for all instances; undefined: in each server's own memory. */
  readonly redis: RedisConfig | undefined;
  /** The least severe messages that are logged. */
  readonly logLevel: LogLevel;
  /** The server's log; undefined: stdout. The launcher, which rotates the file, sets it. */
  readonly logFile: string | undefined;
  /** The size at which the launcher begins another file of a log. */
  readonly logMaxBytes: number;
  /** How many files of a log there are at the most, with the one that is written to. */
  readonly logFiles: number;
  /** Another Envoy binary than the pinned one. */
  readonly envoy: string | undefined;
  /** Whether an empty database gets an account with a key in `DATA_DIR/demo.key`. */
  readonly demoAccount: boolean;
  /** The operator's key for the admin service; undefined: the one in `DATA_DIR/operator.key`. */
  readonly operatorKey: string | undefined;
  /** For how many days usage is kept, today not counted. */
  readonly usageDays: number;
  /** For how long an answer is remembered under its idempotency key. */
  readonly idempotencyMs: number;
  readonly limits: LimitsConfig;
}

/** `REDIS_URL`, one address of a server or several of a cluster. */
export interface RedisConfig {
  /** An address each, with user, password and database number where there are any. */
  readonly urls: readonly [string, ...string[]];
  /** Whether they are nodes of a cluster, which are asked for the others. */
  readonly isCluster: boolean;
}

/** The numbers of the contract's section 8. */
export interface LimitsConfig {
  /** What each plan allows. An enterprise account has its own agreed numbers. */
  readonly plans: Readonly<Record<'free' | 'pro' | 'business', Quota>>;
  /** Requests a minute without a valid key, per IP address. */
  readonly addressPerMinute: number;
  /** IP addresses told apart in one minute; those beyond share one count. */
  readonly maxAddresses: number;
  readonly ban: BanPolicy;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the settings. Throws ConfigError with a line for the first one that is not right. */
export function readConfig(env: Environment = process.env): Config {
  const config: Config = {
    host: read(env, 'HOST', '127.0.0.1', toAddress),
    port: read(env, 'PORT', '8080', wholeNumber('port', MAX_PORT)),
    grpcPort: read(env, 'GRPC_PORT', '50051', wholeNumber('port', MAX_PORT)),
    instances: read(env, 'INSTANCES', '1', wholeNumber('number', MAX_INSTANCES)),
    envoyAdminPort: read(env, 'ENVOY_ADMIN_PORT', '9901', wholeNumber('port', MAX_PORT)),
    dataDir: read(env, 'DATA_DIR', fileURLToPath(new URL('../data', import.meta.url)), (text) => resolve(text)),
    databaseUrl: read(env, 'DATABASE_URL', '', toDatabaseUrl),
    databaseConnections: read(env, 'DATABASE_CONNECTIONS', '10', wholeNumber('number', MAX_CONNECTIONS, 2)),
    preparedStatements: env.PREPARED_STATEMENTS ? read(env, 'PREPARED_STATEMENTS', '', toYesOrNo) : undefined,
    migrateAtStart: read(env, 'MIGRATE_AT_START', 'yes', toYesOrNo),
    redis: read(env, 'REDIS_URL', '', toRedis),
    logLevel: read(env, 'LOG_LEVEL', 'info', toLogLevel),
    logFile: env.LOG_FILE || undefined,
    logMaxBytes: count(env, 'LOG_MAX_BYTES', 50_000_000),
    logFiles: read(env, 'LOG_FILES', '5', wholeNumber('number', MAX_LOG_FILES)),
    envoy: env.ENVOY || undefined,
    demoAccount: read(env, 'DEMO_ACCOUNT', env.DATABASE_URL ? 'no' : 'yes', toYesOrNo),
    operatorKey: read(env, 'OPERATOR_KEY', '', toOperatorKey),
    usageDays: count(env, 'USAGE_DAYS', 400),
    idempotencyMs: read(env, 'IDEMPOTENCY_HOURS', '24', wholeNumber('number', MAX_HOURS)) * HOUR_MS,
    limits: {
      plans: {
        free: { perMinute: count(env, 'FREE_PER_MINUTE', 60), perDay: count(env, 'FREE_PER_DAY', 1_000) },
        pro: { perMinute: count(env, 'PRO_PER_MINUTE', 300), perDay: count(env, 'PRO_PER_DAY', 10_000) },
        business: {
          perMinute: count(env, 'BUSINESS_PER_MINUTE', 1_000),
          perDay: count(env, 'BUSINESS_PER_DAY', 100_000),
        },
      },
      addressPerMinute: count(env, 'ADDRESS_PER_MINUTE', 60),
      maxAddresses: count(env, 'MAX_ADDRESSES', 100_000),
      ban: {
        refusals: count(env, 'BAN_REFUSALS', 20),
        windowMs: count(env, 'BAN_WINDOW_SECONDS', 60) * 1_000,
        durationMs: count(env, 'BAN_SECONDS', 300) * 1_000,
      },
    },
  };
  checkPortsDiffer(config);
  checkInstancesShare(config);
  return config;
}

/** A setting that is a positive count. */
function count(env: Environment, name: string, fallback: number): number {
  return read(env, name, String(fallback), wholeNumber('number', MAX_COUNT));
}

/** An unset or empty variable means the default. */
function read<T>(env: Environment, name: string, fallback: string, parse: (text: string) => T | Expected): T {
  const text = env[name] || fallback;
  const value = parse(text);
  if (value instanceof Expected) throw new ConfigError(`${name} must be ${value.what}, not ${JSON.stringify(text)}`);
  return value;
}

/** What a setting should have been. */
class Expected {
  readonly what: string;
  constructor(what: string) {
    this.what = what;
  }
}

/** Reads a whole number from `min` to `max`; `what` is it for people. */
function wholeNumber(what: string, max: number, min = 1): (text: string) => number | Expected {
  return (text) => {
    const value = Number(text);
    const isRight = /^\d+$/.test(text) && value >= min && value <= max;
    return isRight ? value : new Expected(`a ${what} from ${min} to ${max}`);
  };
}

function toAddress(text: string): string | Expected {
  return isIP(text) === 0 ? new Expected('an IP address, such as 127.0.0.1 or 0.0.0.0') : text;
}

function toYesOrNo(text: string): boolean | Expected {
  return text === 'yes' || text === 'no' ? text === 'yes' : new Expected('yes or no');
}

/** Undefined for an empty text. The complaint does not repeat the value: it is a secret. */
function toOperatorKey(text: string): string | undefined {
  if (text === '' || /^[\x21-\x7e]{16,}$/.test(text)) return text || undefined;
  throw new ConfigError('OPERATOR_KEY must be at least 16 visible ASCII characters');
}

function toLogLevel(text: string): LogLevel | Expected {
  return LOG_LEVELS.find((level) => level === text) ?? new Expected(`one of ${LOG_LEVELS.join(', ')}`);
}

/** Undefined for an empty text. The complaint does not repeat the value: it may hold a password. */
function toDatabaseUrl(text: string): string | undefined {
  if (text === '') return undefined;
  if (isUrl(text, ['postgres:', 'postgresql:'])) return text;
  throw new ConfigError('DATABASE_URL must look like postgres://user:password@host:5432/name');
}

/** Several addresses, separated by commas, are nodes of a cluster; so is a single one with `?cluster=true`. */
function toRedis(text: string): RedisConfig | undefined {
  if (text === '') return undefined;
  const asked = text.endsWith(CLUSTER);
  const [first = '', ...others] = (asked ? text.slice(0, -CLUSTER.length) : text).split(',');
  // Only the first address needs a scheme and a password: the others have the same.
  const prefix = /^[^/]*\/\/([^@/]*@)?/.exec(first)?.[0] ?? '';
  const urls = [first, ...others.map((node) => (node.includes('//') ? node : prefix + node))] as const;
  if (urls.every((url) => isUrl(url, ['redis:', 'rediss:']))) return { urls, isCluster: asked || others.length > 0 };
  throw new ConfigError('REDIS_URL must look like redis://user:password@host:6379, with more nodes after commas');
}

function isUrl(text: string, protocols: readonly string[]): boolean {
  const url = URL.parse(text);
  return url !== null && protocols.includes(url.protocol) && url.hostname !== '';
}

function checkPortsDiffer(config: Config): void {
  const { port, envoyAdminPort } = config;
  if (config.grpcPort + config.instances - 1 > MAX_PORT) {
    throw new ConfigError(`GRPC_PORT must leave room for ${config.instances} ports up to ${MAX_PORT}`);
  }
  const named: [name: string, port: number][] = [
    ['PORT', port],
    ...grpcPorts(config).map((value, index): [string, number] => [
      index === 0 ? 'GRPC_PORT' : `GRPC_PORT+${index}`,
      value,
    ]),
    ['ENVOY_ADMIN_PORT', envoyAdminPort],
  ];
  const names = new Map<number, string>();
  for (const [name, value] of named) {
    const other = names.get(value);
    if (other !== undefined) throw new ConfigError(`${name} must not be ${other}'s port ${value}`);
    names.set(value, name);
  }
}

/** The private ports of all instances, consecutive. */
export function grpcPorts({ grpcPort, instances }: Pick<Config, 'grpcPort' | 'instances'>): number[] {
  return Array.from({ length: instances }, (_, index) => grpcPort + index);
}

function checkInstancesShare({ instances, databaseUrl, redis }: Config): void {
  if (instances === 1) return;
  const missing = [
    ...(databaseUrl === undefined ? ['DATABASE_URL (SQLite is for one process)'] : []),
    ...(redis === undefined ? ['REDIS_URL (limits in memory are for one process)'] : []),
  ];
  if (missing.length > 0) throw new ConfigError(`INSTANCES=${instances} needs ${missing.join(' and ')}`);
}
