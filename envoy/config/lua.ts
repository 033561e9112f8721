/** The Lua filters in envoy/, and what they need to know of the proto files, the server and the settings. */
import type { Config } from '../../src/config/config.ts';
import { ACCOUNT_KEY, BODY_TIMEOUT_MS, CALL_TIMEOUT_MS, MAX_BODY_BYTES } from '../../src/config/constants.ts';
import { connectBody } from '../../src/edge/connect-error.ts';
import { EDGE_HEADERS } from '../../src/edge/headers.ts';
import { restBody } from '../../src/edge/rest-protocol.ts';
import { apiError } from '../../src/errors.ts';
import { detailsHeader, toDetails } from '../../src/rpc/status.ts';
import { IN_BAD_HOST } from './kinds.ts';
import { extension, type Message } from './message.ts';
import { BODIES, EDGE_METHODS, UNARY } from './operations.ts';
import { HEDGED_RETRY_ON, MAX_RETRIES } from './routes.ts';
import { hedgeDelayMs } from './servers.ts';

/** Later than the server's own timeout, which has a better response for gRPC callers. */
export const EDGE_BODY_TIMEOUT_MS = BODY_TIMEOUT_MS + 1_000;

/** A filter that runs this Lua code after the settings are defined. Each filter has a Lua state of its own. */
export function luaFilter(name: string, config: Config, root: string, code: string): Message {
  return extension(name, 'envoy.extensions.filters.http.lua.v3.Lua', {
    clear_route_cache: false,
    default_source_code: { inline_string: `package.path = "${root}/envoy/?.lua"\n${luaSettings(config)}\n${code}\n` },
  });
}

/** Lua code that defines the module `settings`. */
export function luaSettings(config: Config): string {
  const { edgeSecret = '', limits } = config;
  const [unavailable, late, flood] = [apiError('UNAVAILABLE'), apiError('DEADLINE_EXCEEDED'), floodError(limits)];
  const settings = {
    edge_secret: edgeSecret,
    headers: EDGE_HEADERS,
    /** An account's key in its one spelling. */
    key_pattern: `^Bearer ${ACCOUNT_KEY.start}${'%w'.repeat(ACCOUNT_KEY.length)}$`,
    in_bad_host: IN_BAD_HOST,
    max_body_bytes: MAX_BODY_BYTES,
    call_timeout_ms: CALL_TIMEOUT_MS,
    retry_on: HEDGED_RETRY_ON,
    max_retries: MAX_RETRIES,
    hedge_delay_ms: hedgeDelayMs(config),
    /** What an address may send without a known key. */
    address_burst: limits.addressBurst,
    address_per_second: limits.addressPerSecond,
    flood_policy: `"burst";q=${limits.addressBurst};w=${Math.ceil(limits.addressBurst / limits.addressPerSecond)}`,
    /** The errors if the server is not asked, or is unreachable. */
    errors: {
      rest: { unavailable: restBody(unavailable), deadline_exceeded: restBody(late), flood: restBody(flood) },
      connect: {
        unavailable: connectBody(unavailable),
        deadline_exceeded: connectBody(late),
        flood: connectBody(flood),
      },
    },
    /** The flood's error in gRPC. */
    flood_status: { message: flood.message, details: detailsHeader(toDetails(flood)) },
    operations: toSet(UNARY),
    bodies: BODIES,
    edge_methods: EDGE_METHODS,
  };
  return `package.loaded.settings = ${toLua(settings)}`;
}

function floodError({ addressPerSecond }: Config['limits']) {
  const retryAfterSeconds = 1;
  return apiError(
    'RATE_LIMITED',
    { limit: addressPerSecond, window: 'second', retryAfterSeconds },
    { retryAfterSeconds },
  );
}

/** A set in Lua: its items are the keys. */
function toSet(items: readonly string[]): Readonly<Record<string, true>> {
  return Object.fromEntries(items.map((item) => [item, true]));
}

type LuaValue = string | number | boolean | undefined | LuaTable;

export interface LuaTable {
  readonly [key: string]: LuaValue;
}

export function toLua(value: LuaValue, indent = ''): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value !== 'object') return String(value ?? 'nil');
  const lines = Object.entries(value).map(
    ([key, item]) => `${indent}  ${toKey(key)} = ${toLua(item, `${indent}  `)},\n`,
  );
  return lines.length === 0 ? '{}' : `{\n${lines.join('')}${indent}}`;
}

function toKey(key: string): string {
  return /^[a-z]\w*$/.test(key) ? key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : `[${quote(key)}]`;
}

/** Throws for text that is not visible ASCII, because Lua has other escapes. */
function quote(text: string): string {
  if (!/^[\x20-\x7e]*$/.test(text)) throw new Error(`"${text}" can't be written as Lua`);
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}
