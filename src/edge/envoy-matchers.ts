/**
 * Matchers in envoy.yaml: the requests and responses for which Envoy skips an HTTP filter, so that it costs nothing.
 */
import type { Operations } from '../proto/operations.ts';
import { EDGE_HEADERS } from './headers.ts';

type StringMatch = { readonly exact: string } | { readonly safe_regex: object };
type Predicate = { readonly [kind in 'single_predicate' | 'not_matcher' | 'and_matcher']?: object };

const ANY = regex('.*');
/** In Envoy's regular expressions `.` matches no byte that is not part of UTF-8 text; `\C` matches every byte. */
const ANY_BYTES = regex('\\C*');

const SKIP = {
  action: {
    name: 'skip',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.filters.common.matcher.action.v3.SkipFilter',
    },
  },
};

/** By their names in envoy.yaml. */
export function filterSkips(operations: Operations) {
  return {
    /** Most requests have nothing that gRPC metadata can't carry. */
    SKIP_METADATA: [
      skipWhen(
        not(requestHeader('idempotency-key', ANY_BYTES)),
        not(requestHeader('if-match', ANY_BYTES)),
        not(requestHeader('if-none-match', ANY_BYTES)),
        not(requestHeader(':method', { exact: 'CONNECT' })),
      ),
    ],
    /** The filter runs for every request, but only for responses with one of these headers. */
    SKIP_CALLER: [
      skipWhen(
        not(responseHeader(EDGE_HEADERS.refused, ANY)),
        not(responseHeader(EDGE_HEADERS.accepted, ANY)),
        not(responseHeader(EDGE_HEADERS.length, ANY)),
      ),
    ],
    /** Requests with these methods have no body unless they have a length. */
    SKIP_REST: [
      skipWhen(requestHeader(':method', regex('GET|HEAD|DELETE')), not(requestHeader('content-length', ANY))),
    ],
    /** Only a request whose body the filter for REST has read is complete. */
    SKIP_BUFFER: [skipWhen(not(requestHeader(EDGE_HEADERS.bodyType, ANY)))],
    SKIP_HEDGING: [skipWhen(not(requestHeader(':path', regex(readPaths(operations)))))],
  };
}

/** Skips the filter when all predicates are true. */
function skipWhen(...predicates: readonly Predicate[]) {
  const predicate = predicates.length === 1 ? predicates[0] : { and_matcher: { predicate: predicates } };
  return { predicate, on_match: SKIP };
}

function not(predicate: Predicate): Predicate {
  return { not_matcher: predicate };
}

function requestHeader(name: string, match: StringMatch): Predicate {
  return header('request-headers', 'HttpRequestHeaderMatchInput', name, match);
}

function responseHeader(name: string, match: StringMatch): Predicate {
  return header('response-headers', 'HttpResponseHeaderMatchInput', name, match);
}

function header(input: string, type: string, name: string, match: StringMatch): Predicate {
  const typed_config = { '@type': `type.googleapis.com/envoy.type.matcher.v3.${type}`, header_name: name };
  return { single_predicate: { input: { name: input, typed_config }, value_match: match } };
}

function regex(pattern: string): StringMatch {
  return { safe_regex: { google_re2: {}, regex: pattern } };
}

/** A regular expression of the gRPC paths of calls that only read. */
function readPaths({ byPath }: Operations): string {
  const reads = [...byPath.values()].filter(({ isRead, routes, isRaw }) => isRead && routes.length > 0 && !isRaw);
  return reads.map(({ path }) => path.replaceAll('.', '\\.')).join('|');
}
