/**
 * Envoy's access log: a JSON line for each request. No line contains an API key, wherever the caller put it:
 *
 * - The query is never logged. A path is hidden if one of its segments is longer than any segment of the API.
 * - A request id is hidden unless it looks like Envoy's: a request that Envoy rejects early still has the caller's.
 * - Of a method there are 12 characters, as of a key that is shown. Of a user agent there are no long words.
 *
 * A request that Envoy rejects before any filter has no path in the log.
 */
import { EDGE_HEADERS } from '../../src/platform/rest/headers.ts';
import { any, extension, type Message } from './message.ts';

const LOGGERS = 'envoy.extensions.access_loggers';
export const LOG_NAMESPACE = 'edge.log';
const HIDDEN = '(hidden)';

/** The method as the caller sent it: the transcoder changes it to POST. */
export const LOGGED_METHOD = '%REQ(X-ENVOY-ORIGINAL-METHOD?:METHOD):12%';

/** No segment of the API's paths is longer. The second part is what follows, or a whole path with a longer segment. */
const SHORT_SEGMENTS = '^((?:[/.][^/.?]{0,21})*)(?:\\?\\C*)?$|^\\C*$';

/** The request's id, or the response's to a request that is too broken to have one. */
const REQUEST_ID =
  "'x-request-id' in request.headers ? (request.headers['x-request-id'].matches('^[0-9a-f-]+$') ? " +
  "request.headers['x-request-id'] : '') : response.headers['x-request-id']";

const HIDDEN_PATH = to('path', { value: HIDDEN });

/** Moves headers, some of which callers must not see, to metadata for the access log. */
export const LOG_FILTER = extension(LOG_NAMESPACE, 'envoy.extensions.filters.http.header_to_metadata.v3.Config', {
  request_rules: [
    // The last of two rules counts, unless it leaves nothing of the path. CONNECT has no path.
    { header: ':path', on_header_present: HIDDEN_PATH, on_header_missing: HIDDEN_PATH },
    { header: ':path', on_header_present: to('path', rewrite(SHORT_SEGMENTS, '\\1')) },
    // No real user agent has a word of 20 characters from an API key's alphabet.
    { header: 'user-agent', on_header_present: to('user_agent', rewrite('[\\w-]{20,}', HIDDEN)) },
  ],
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

function rewrite(regex: string, substitution: string): Message {
  return { regex_value_rewrite: { pattern: { regex }, substitution } };
}

/** The access log in this file, or on stdout. */
export function accessLog(file: string | undefined, isTraced: boolean): Message {
  const logged = (key: string) => `%DYNAMIC_METADATA(${LOG_NAMESPACE}:${key})%`;
  const json_format = {
    time: '%START_TIME%',
    request_id: `%CEL(${REQUEST_ID})%`,
    client: '%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%',
    protocol: '%PROTOCOL%',
    method: LOGGED_METHOD,
    path: `%DYNAMIC_METADATA(${LOG_NAMESPACE}:path):256%`,
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
    user_agent: `%DYNAMIC_METADATA(${LOG_NAMESPACE}:user_agent):128%`,
    trace_id: isTraced ? '%TRACE_ID%' : undefined,
  };
  const log_format = { json_format };
  const typed_config =
    file === undefined
      ? any(`${LOGGERS}.stream.v3.StdoutAccessLog`, { log_format })
      : any(`${LOGGERS}.file.v3.FileAccessLog`, { path: file, log_format });
  return { name: 'envoy.access_loggers.file', typed_config };
}
