/** Conditions on a request and its response, for local replies and the access log. */
import type { EdgeConfig } from '../../src/platform/config/config.ts';
import { EDGE_HEADERS } from '../../src/platform/edge-headers.ts';
import { any, type Message } from './message.ts';

export function and(...filters: readonly Message[]): Message {
  return { and_filter: { filters } };
}

export function or(...filters: readonly Message[]): Message {
  return { or_filter: { filters } };
}

export function hasHeader(match: Message): Message {
  return { header_filter: { header: match } };
}

export function status(op: 'EQ' | 'GE', code: number): Message {
  return { status_code_filter: { comparison: { op, value: { default_value: code, runtime_key: 'unused' } } } };
}

/** A filter in CEL (https://cel.dev). */
export function expression(text: string): Message {
  const typed_config = any('envoy.extensions.access_loggers.filters.cel.v3.ExpressionFilter', { expression: text });
  return { extension_filter: { name: 'envoy.access_loggers.extension_filters.cel', typed_config } };
}

/**
 * The header of a request that has passed the filters: the first of them adds the secret. A request that Envoy refuses
 * before that still has its caller's headers, also those that only Envoy may set.
 */
export function passedHeader({ edgeSecret }: EdgeConfig): Message {
  return { name: EDGE_HEADERS.edge, string_match: { exact: edgeSecret }, treat_missing_header_as_empty: true };
}
