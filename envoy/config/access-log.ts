/**
 * Envoy's access log: a JSON line for each request. No line contains an API key, wherever the caller put it:
 *
 * - The query is never logged. A path is hidden if one of its segments is longer than any segment of the API.
 * - A request id is hidden unless Envoy made it: a request that Envoy rejects early still has the caller's.
 * - Of a method there are 12 characters, as of a key that is shown. Of a user agent there are no long words.
 */

import type { Message } from './message.ts';

interface AccessLogOptions {
  /** Undefined: stdout. */
  readonly file: string | undefined;
  readonly isTraced: boolean;
}

const TYPES = 'type.googleapis.com/envoy.extensions.access_loggers';

/** The method as the caller sent it: the transcoder changes it to POST. */
export const LOGGED_METHOD = '%REQ(X-ENVOY-ORIGINAL-METHOD?:METHOD):12%';

/** No segment of the API's paths is longer. */
const SHORT_SEGMENTS = { safe_regex: { regex: '([/.][^/.?]{0,21})*(\\?\\C*)?' } };
/** The alphabet of the request ids that Envoy makes. */
const UUID = { safe_regex: { regex: '[\\da-f-]+' } };

const HAS_REQUEST_ID = header({ name: 'x-request-id', present_match: true });
const HAS_NO_REQUEST_ID = header({ name: 'x-request-id', present_match: true, invert_match: true });

const COMMON_FIELDS = {
  time: '%START_TIME%',
  client: '%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%',
  protocol: '%PROTOCOL%',
  method: LOGGED_METHOD,
  status: '%RESPONSE_CODE%',
  duration_ms: '%DURATION%',
  bytes_sent: '%BYTES_SENT%',
  details: '%RESPONSE_CODE_DETAILS%',
};

/** From the filter petstore.log. */
const METADATA_FIELDS = {
  account_id: '%DYNAMIC_METADATA(petstore.log:account)%',
  key_id: '%DYNAMIC_METADATA(petstore.log:key)%',
  code: '%DYNAMIC_METADATA(petstore.log:code)%',
  // Envoy derives a status from the HTTP status if the headers have none.
  grpc_status:
    '%COALESCE({"operators":[{"command":"DYNAMIC_METADATA","param":"petstore.log:grpc_status"}, ' +
    '{"command":"GRPC_STATUS_NUMBER"}]})%',
  user_agent: '%DYNAMIC_METADATA(petstore.log:user_agent):128%',
};

/** Envoy's `access_log`: exactly one of the loggers writes a line for a request. */
export function accessLogs({ file, isTraced }: AccessLogOptions): readonly Message[] {
  const sink =
    file === undefined
      ? { '@type': `${TYPES}.stream.v3.StdoutAccessLog` }
      : { '@type': `${TYPES}.file.v3.FileAccessLog`, path: file };
  const logger = (filter: Message, fields: Message) => ({
    name: 'envoy.access_loggers.file',
    filter,
    typed_config: { ...sink, log_format: { json_format: { ...COMMON_FIELDS, ...fields } } },
  });
  const fields = { ...METADATA_FIELDS, ...(isTraced && { trace_id: '%TRACE_ID%' }) };
  return [
    logger(
      {
        and_filter: {
          filters: [
            header({ name: ':path', string_match: SHORT_SEGMENTS, treat_missing_header_as_empty: true }),
            header({
              name: 'x-envoy-original-path',
              string_match: SHORT_SEGMENTS,
              treat_missing_header_as_empty: true,
            }),
            header({ name: 'x-request-id', string_match: UUID }),
          ],
        },
      },
      { ...fields, request_id: '%REQ(X-REQUEST-ID)%', path: '%PATH(NQ:ORIG_OR_PATH):256%' },
    ),
    logger(
      {
        and_filter: {
          filters: [
            HAS_REQUEST_ID,
            {
              or_filter: {
                filters: [
                  header({ name: ':path', string_match: SHORT_SEGMENTS, invert_match: true }),
                  header({ name: 'x-envoy-original-path', string_match: SHORT_SEGMENTS, invert_match: true }),
                  header({ name: 'x-request-id', string_match: UUID, invert_match: true }),
                ],
              },
            },
          ],
        },
      },
      { ...fields, path: '(hidden)' },
    ),
    // The request is too broken to have a request id, but the response has one.
    logger(HAS_NO_REQUEST_ID, { request_id: '%RESP(X-REQUEST-ID)%' }),
  ];
}

function header(match: Message): Message {
  return { header_filter: { header: match } };
}
