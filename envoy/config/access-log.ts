/**
 * Envoy's access log: a JSON line for each request. No line contains an API key, wherever the caller put it:
 *
 * - The query is never logged. Of a method there are 12 characters, as of a key that is shown.
 * - Path and user agent are hidden if one of them has a word that may be a key, or more than ASCII, or if Envoy refused
 *   the request before its filters: then all headers are the caller's own, and a request id is hidden that does not
 *   look like Envoy's.
 */
import type { EdgeConfig } from '../../src/platform/config/config.ts';
import { EDGE_HEADERS, ORIGINAL_PATH } from '../../src/platform/edge-headers.ts';
import { and, hasHeader, or, passedHeader } from './conditions.ts';
import { any, extension, type Message } from './message.ts';

const LOG_NAMESPACE = 'edge.log';

/** The method as the caller sent it: the transcoder changes it to POST. */
export const LOGGED_METHOD = '%REQ(X-ENVOY-ORIGINAL-METHOD?:METHOD):12%';

/**
 * No segment of the API's paths is longer, and none has more: each request would be read through, up to 24 KB, for both
 * lines. What follows is the query. Only ASCII: other bytes may move the cursor of who reads the log, or turn the
 * direction of a line.
 */
const SHORT_SEGMENTS = '[!-\\-0->@-~]{0,21}([/.][!-\\-0->@-~]{0,21}){0,15}(\\?\\C*)?';
/** No real user agent has a word of 20 characters from an API key's alphabet. */
const SHORT_WORDS = '[\\w-]{0,19}([ -,./:-@\\[-^`{-~]+[\\w-]{0,19})*';

/** The id of a request that Envoy refused early, or the response's if the request is too broken to have one. */
const REQUEST_ID =
  "'x-request-id' in request.headers ? (size(request.headers['x-request-id']) <= 64 && " +
  "request.headers['x-request-id'].matches('^[0-9a-f-]+$') ? request.headers['x-request-id'] : '') : " +
  "response.headers['x-request-id']";

/** Moves headers of the response, some of which callers must not see, to metadata for the access log. */
export const LOG_FILTER = extension(LOG_NAMESPACE, 'envoy.extensions.filters.http.header_to_metadata.v3.Config', {
  response_rules: [
    // A success with an API key has no status in its headers; native gRPC has it in the trailers.
    { header: EDGE_HEADERS.key, on_header_present: to('grpc_status', { type: 'NUMBER', value: '0' }) },
    { header: 'grpc-status', on_header_present: to('grpc_status', { type: 'NUMBER' }) },
    { header: EDGE_HEADERS.grpcStatus, on_header_present: to('grpc_status', { type: 'NUMBER' }), remove: true },
    { header: EDGE_HEADERS.account, on_header_present: to('account', { type: 'NUMBER' }), remove: true },
    { header: EDGE_HEADERS.key, on_header_present: to('key', { type: 'NUMBER' }), remove: true },
    { header: EDGE_HEADERS.code, on_header_present: to('code'), remove: true },
  ],
});

function to(key: string, more: Message = {}): Message {
  return { metadata_namespace: LOG_NAMESPACE, key, ...more };
}

/** The access log in this file, or on stdout: lines with path and user agent, and lines in which they are hidden. */
export function accessLogs(config: EdgeConfig, file: string | undefined): readonly Message[] {
  const harmless = [
    passedHeader(config),
    matching(':path', SHORT_SEGMENTS),
    matching(ORIGINAL_PATH, SHORT_SEGMENTS),
    matching('user-agent', SHORT_WORDS),
  ];
  const shown = { path: '%PATH(NQ):256%', user_agent: '%REQ(USER-AGENT):128%', request_id: '%REQ(X-REQUEST-ID)%' };
  const hidden = { path: '(hidden)', user_agent: '(hidden)', request_id: `%CEL(${REQUEST_ID})%` };
  return [
    { filter: and(...harmless.map(hasHeader)), fields: shown },
    { filter: or(...harmless.map((match) => hasHeader({ ...match, invert_match: true }))), fields: hidden },
  ].map(({ filter, fields }) => ({ filter, ...accessLog(config, file, fields) }));
}

function matching(name: string, regex: string): Message {
  return { name, string_match: { safe_regex: { regex } }, treat_missing_header_as_empty: true };
}

function accessLog({ traces }: EdgeConfig, file: string | undefined, fields: Message): Message {
  const logged = (key: string) => `%DYNAMIC_METADATA(${LOG_NAMESPACE}:${key})%`;
  const json_format = {
    ...fields,
    time: '%START_TIME%',
    client: '%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%',
    protocol: '%PROTOCOL%',
    method: LOGGED_METHOD,
    status: '%RESPONSE_CODE%',
    duration_ms: '%DURATION%',
    bytes_sent: '%BYTES_SENT%',
    details: '%RESPONSE_CODE_DETAILS%',
    account_id: logged('account'),
    key_id: logged('key'),
    code: logged('code'),
    // Envoy derives a status from the HTTP status if the headers have none.
    grpc_status:
      `%COALESCE({"operators":[{"command":"DYNAMIC_METADATA","param":"${LOG_NAMESPACE}:grpc_status"}, ` +
      '{"command":"GRPC_STATUS_NUMBER"}]})%',
    trace_id: traces && '%TRACE_ID%',
  };
  const log = { log_format: { json_format } };
  const typed_config =
    file === undefined
      ? any('envoy.extensions.access_loggers.stream.v3.StdoutAccessLog', log)
      : any('envoy.extensions.access_loggers.file.v3.FileAccessLog', { ...log, path: file });
  return { name: 'envoy.access_loggers.file', typed_config };
}
