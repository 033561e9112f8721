/** The requests and responses for which Envoy skips an HTTP filter, so that it costs nothing. */
import { EDGE_HEADERS } from '../../src/edge/headers.ts';
import { extension, type Message } from './message.ts';

const ANY = regex('.*');

/** The filter runs for every request, but only for responses with one of these headers. */
export const SKIP_CALLER = skipWhen(
  not(responseHeader(EDGE_HEADERS.refused, ANY)),
  not(responseHeader(EDGE_HEADERS.accepted, ANY)),
  not(responseHeader(EDGE_HEADERS.length, ANY)),
);

/** A request without a body: petstore.body has added the length of one that came without. */
export const SKIP_REST = skipWhen(not(requestHeader('content-length', ANY)));

/** The filter, which does nothing for what this matcher skips. */
export function matched(name: string, matcher: Message, filter: Message): Message {
  return extension(name, 'envoy.extensions.common.matching.v3.ExtensionWithMatcher', {
    xds_matcher: { matcher_list: { matchers: [matcher] } },
    extension_config: filter,
  });
}

/** Skips the filter when all predicates are true. */
function skipWhen(...all: readonly Message[]): Message {
  const skip = extension('skip', 'envoy.extensions.filters.common.matcher.action.v3.SkipFilter');
  return { predicate: all.length === 1 ? all[0] : { and_matcher: { predicate: all } }, on_match: { action: skip } };
}

function not(predicate: Message): Message {
  return { not_matcher: predicate };
}

function requestHeader(name: string, match: Message): Message {
  return inputHeader('request-headers', 'HttpRequestHeaderMatchInput', name, match);
}

function responseHeader(name: string, match: Message): Message {
  return inputHeader('response-headers', 'HttpResponseHeaderMatchInput', name, match);
}

function inputHeader(input: string, type: string, name: string, value_match: Message): Message {
  const from = extension(input, `envoy.type.matcher.v3.${type}`, { header_name: name });
  return { single_predicate: { input: from, value_match } };
}

function regex(pattern: string): Message {
  return { safe_regex: { google_re2: {}, regex: pattern } };
}
