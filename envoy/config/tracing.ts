/** One span for each request, the parent of the server's span. */
import { NAME } from '../../src/identity.ts';
import type { TracesConfig } from '../../src/platform/config/config.ts';
import { LOGGED_METHOD } from './access-log.ts';
import { extension, type Message } from './message.ts';

const SAMPLERS = 'envoy.extensions.tracers.opentelemetry.samplers.v3';
const GRPC_TAGS = ['path', 'authority', 'content_type', 'timeout', 'message'].map((name) => `grpc.${name}`);
const HIDDEN = ['http.url', 'user_agent', 'guid:x-request-id', ...GRPC_TAGS];

/** The connection manager's `tracing`. */
export function tracing(traces: TracesConfig): Message {
  return {
    operation: LOGGED_METHOD,
    // What a caller sends may contain an API key, so these tags replace those that Envoy would copy from the request.
    max_path_tag_length: 0,
    custom_tags: [
      { tag: 'http.method', value: LOGGED_METHOD },
      ...HIDDEN.map((tag) => ({ tag, literal: { value: '(hidden)' } })),
    ],
    provider: extension('envoy.tracers.opentelemetry', 'envoy.config.trace.v3.OpenTelemetryConfig', {
      service_name: `${NAME}-edge`,
      // If the collector does not respond, Envoy holds this many spans and the exports in progress.
      max_cache_size: 1024,
      http_service: { http_uri: { uri: `${traces.endpoint}/v1/traces`, cluster: 'traces', timeout: '3s' } },
      sampler: sampler(traces),
    }),
  };
}

/** The caller's traceparent and trace id have no influence on whether a request is traced. */
function sampler({ ratio }: TracesConfig): Message {
  if (ratio === 1) return samplerOf('always_on', 'AlwaysOnSamplerConfig');
  // The request id is random, so its first digits decide: request.id < "80000000"
  const below = Math.floor(ratio * 2 ** 32);
  const args = [
    { id: 2, select_expr: { operand: { id: 3, ident_expr: { name: 'request' } }, field: 'id' } },
    { id: 4, const_expr: { string_value: below.toString(16).padStart(8, '0') } },
  ];
  return samplerOf('cel', 'CELSamplerConfig', {
    expression: { cel_expr_parsed: { expr: { id: 1, call_expr: { function: '_<_', args } } } },
  });
}

function samplerOf(name: string, type: string, fields?: Message): Message {
  return extension(`envoy.tracers.opentelemetry.samplers.${name}`, `${SAMPLERS}.${type}`, fields);
}
