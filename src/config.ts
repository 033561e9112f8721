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

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface Config {
  /** The address that the public port listens on. Anything but loopback is a decision. */
  readonly host: string;
  /** Envoy's public port: REST, gRPC and gRPC-Web. */
  readonly port: number;
  /** The gRPC server's private port, on loopback. */
  readonly grpcPort: number;
  /** Envoy's admin port, on loopback. */
  readonly envoyAdminPort: number;
  /** The folder of the database, the demo key and the logs. */
  readonly dataDir: string;
  /** The least severe messages that are logged. */
  readonly logLevel: LogLevel;
  /** Another Envoy binary than the pinned one. */
  readonly envoy: string | undefined;
  /** The operator's key for the admin service; undefined: the one in `DATA_DIR/operator.key`. */
  readonly operatorKey: string | undefined;
  readonly limits: LimitsConfig;
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
    port: read(env, 'PORT', '8080', toPort),
    grpcPort: read(env, 'GRPC_PORT', '50051', toPort),
    envoyAdminPort: read(env, 'ENVOY_ADMIN_PORT', '9901', toPort),
    dataDir: read(env, 'DATA_DIR', fileURLToPath(new URL('../data', import.meta.url)), (text) => resolve(text)),
    logLevel: read(env, 'LOG_LEVEL', 'info', toLogLevel),
    envoy: env.ENVOY || undefined,
    operatorKey: read(env, 'OPERATOR_KEY', '', toOperatorKey),
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
  return config;
}

/** A setting that is a positive count. */
function count(env: Environment, name: string, fallback: number): number {
  return read(env, name, String(fallback), (text) => {
    const value = Number(text);
    return /^\d+$/.test(text) && value >= 1 && value <= MAX_COUNT
      ? value
      : new Expected(`a number from 1 to ${MAX_COUNT}`);
  });
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

function toPort(text: string): number | Expected {
  const port = Number(text);
  return /^\d+$/.test(text) && port >= 1 && port <= 65_535 ? port : new Expected('a port from 1 to 65535');
}

function toAddress(text: string): string | Expected {
  return isIP(text) === 0 ? new Expected('an IP address, such as 127.0.0.1 or 0.0.0.0') : text;
}

/** Undefined for an empty text. The complaint does not repeat the value: it is a secret. */
function toOperatorKey(text: string): string | undefined {
  if (text === '' || /^[\x21-\x7e]{16,}$/.test(text)) return text || undefined;
  throw new ConfigError('OPERATOR_KEY must be at least 16 visible ASCII characters');
}

function toLogLevel(text: string): LogLevel | Expected {
  return LOG_LEVELS.find((level) => level === text) ?? new Expected(`one of ${LOG_LEVELS.join(', ')}`);
}

function checkPortsDiffer({ port, grpcPort, envoyAdminPort }: Config): void {
  const names = new Map<number, string>();
  for (const [name, value] of Object.entries({ PORT: port, GRPC_PORT: grpcPort, ENVOY_ADMIN_PORT: envoyAdminPort })) {
    const other = names.get(value);
    if (other !== undefined) throw new ConfigError(`${name} must not be ${other}'s port ${value}`);
    names.set(value, name);
  }
}
