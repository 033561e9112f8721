/** The Lua filters in envoy/, and what they need to know of the proto files, the server and the settings. */
import { CLUSTERS, KEY_PREFIXES } from '../../src/identity.ts';
import type { EdgeConfig } from '../../src/platform/config/config.ts';
import { KEY_LENGTH, MAX_BODY_BYTES, MAX_FRAMES, MAX_JSON_DEPTH } from '../../src/platform/config/constants.ts';
import { BODY_TIMEOUT_MS, CALL_TIMEOUT_MS } from '../../src/platform/config/times.ts';
import { BAD_HOST, EDGE_HEADERS } from '../../src/platform/edge-headers.ts';
import { type ApiError, apiError, tooFast } from '../../src/platform/errors.ts';
import { connectBody, connectHttpStatus } from '../../src/platform/protocols/connect/connect.ts';
import { toTrailers } from '../../src/platform/protocols/grpc/errors.ts';
import { restBody } from '../../src/platform/protocols/rest/responses.ts';
import { errorHeaders } from '../../src/platform/rpc/errors.ts';
import type { LuaTable, LuaValue } from './json.ts';
import { IN_BAD_HOST, MAX_HELD_BYTES } from './kinds.ts';
import { extension, type Message } from './message.ts';
import { ALLOWED_TO_READ, BODIES, EDGE_METHODS, FINDINGS, UNARY, VERBS } from './operations.ts';
import { HEDGED_RETRY_ON, MAX_RETRIES } from './routes.ts';
import { hedgeDelayMs } from './servers.ts';

/** Later than the server's own timeout, which has a better response for gRPC callers. */
export const EDGE_BODY_TIMEOUT_MS = BODY_TIMEOUT_MS + 1_000;

/** How many characters of a media type are looked at. Parameters mean nothing here, and none is longer. */
export const MAX_TYPE = 128;

/** For how many requests a file counts: 1.7 MB cost seven times as much as a refusal, others up to twice. */
export const DEAR_FILES: Readonly<Record<string, number>> = { '/docs/swagger-ui-bundle.js': 3 };

/** A filter that runs this Lua code after the settings are defined. Each filter has a Lua state of its own. */
export function luaFilter(name: string, config: EdgeConfig, root: string, code: string): Message {
  return extension(name, 'envoy.extensions.filters.http.lua.v3.Lua', {
    clear_route_cache: false,
    default_source_code: { inline_string: `package.path = "${root}/envoy/?.lua"\n${luaSettings(config)}\n${code}\n` },
  });
}

/** Lua code that defines the module `settings`, whose names are in snake case. */
export function luaSettings(config: EdgeConfig): string {
  const { edgeSecret, addressBurst, addressPerSecond } = config;
  const settings = {
    edge_secret: edgeSecret,
    headers: EDGE_HEADERS,
    clusters: CLUSTERS,
    /** An account's key in its one spelling. */
    key_pattern: `^Bearer ${KEY_PREFIXES.account}${'%w'.repeat(KEY_LENGTH)}$`,
    in_bad_host: IN_BAD_HOST,
    bad_host: BAD_HOST,
    max_body_bytes: MAX_BODY_BYTES,
    max_held_bytes: MAX_HELD_BYTES,
    max_frames: MAX_FRAMES,
    max_type: MAX_TYPE,
    max_depth: MAX_JSON_DEPTH,
    call_timeout_ms: CALL_TIMEOUT_MS,
    retry_on: HEDGED_RETRY_ON,
    max_retries: MAX_RETRIES,
    hedge_delay_ms: hedgeDelayMs(config),
    /** What an address may send without a known key. */
    address_burst: addressBurst,
    address_per_second: addressPerSecond,
    dear_files: DEAR_FILES,
    /** The responses if the server is not asked, or is unreachable. */
    replies: { unavailable: replies(apiError('UNAVAILABLE')), late: replies(apiError('DEADLINE_EXCEEDED')) },
    /** A request is beyond the allowance of its address. */
    flood: replies(tooFast(addressBurst, addressPerSecond)),
    operations: Object.fromEntries(UNARY.map((path) => [path, true])),
    reads: Object.fromEntries(ALLOWED_TO_READ.map((name) => [name, true])),
    bodies: BODIES,
    verbs: Object.fromEntries(VERBS.map((verb) => [`:${verb}`, true])),
    edge_methods: EDGE_METHODS,
    findings: FINDINGS,
  };
  return `package.loaded.settings = ${toLua(settings)}`;
}

/** The response with an error, by the shape of errors (kinds.ts). */
function replies(error: ApiError): LuaTable {
  return {
    rest: reply(error.httpStatus, error, restBody(error)),
    connect: reply(connectHttpStatus(error), error, connectBody(error)),
    grpc: reply(200, error, '', toTrailers(error)),
  };
}

function reply(status: number, error: ApiError, body: string, more: Readonly<Record<string, string>> = {}): LuaTable {
  const log = { [EDGE_HEADERS.code]: error.code, [EDGE_HEADERS.grpcStatus]: String(error.grpcStatus) };
  const headers = { 'content-type': 'application/json', ...errorHeaders(error), ...log, ...more };
  return { headers: { ':status': String(status), ...headers }, body };
}

export function toLua(value: LuaValue, indent = ''): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value !== 'object') return String(value ?? 'nil');
  if (Array.isArray(value)) return `{ ${value.map((item) => toLua(item, indent)).join(', ')} }`;
  const lines = Object.entries(value).map(
    ([key, item]) => `${indent}  ${toKey(key)} = ${toLua(item, `${indent}  `)},\n`,
  );
  return lines.length === 0 ? '{}' : `{\n${lines.join('')}${indent}}`;
}

function toKey(key: string): string {
  return /^[a-z]\w*$/.test(key) ? key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : `[${quote(key)}]`;
}

/** Bytes in Latin-1. */
function quote(text: string): string {
  return `'${text.replace(/[^\x20-\x7e]|[\\']/g, (byte) => `\\${String(byte.charCodeAt(0)).padStart(3, '0')}`)}'`;
}
