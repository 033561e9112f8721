/**
 * Traces by OpenTelemetry, sent to a collector over OTLP/HTTP. Names follow its semantic conventions.
 *
 * The `traceparent` of a call says whether it is recorded. It is trusted: only Envoy reaches the private port, and
 * Envoy decides for external callers. Of the calls without one, the configured ratio is recorded.
 *
 * Failure: calls do not wait for the collector. Spans that it does not accept are kept, up to `MAX_SPANS`; others are
 * dropped. The log has one line when the collector becomes unavailable, and one when it is available again.
 *
 * No span has text from a caller: no header, no argument, no error message.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type TextMapGetter, trace } from '@opentelemetry/api';
import { ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import { NAME } from '../../../identity.ts';
import type { TracesConfig } from '../../config/config.ts';
import { ApiError } from '../../errors.ts';
import type { Call, End } from '../../rpc/chain.ts';

/** The maximum of spans that wait for the collector: a few MB. */
const MAX_SPANS = 4_096;
const BATCH = 512;
const BATCH_EVERY_MS = 1_000;
const EXPORT_MS = 3_000;

/** The gRPC statuses that are server errors by OpenTelemetry's conventions for RPC. */
const SERVER_ERRORS = new Set([2, 4, 12, 13, 14, 15]);

/** Ignores `tracestate`: it would put text from the caller into each span. */
const TRACE_PARENT: TextMapGetter<Pick<Call, 'header'>> = {
  keys: () => [],
  get: (call, name) => (name === 'traceparent' ? call.header(name) : undefined),
};

export type Tracing = ReturnType<typeof startTracing>;

/** `logger` is one without trace ids: the lines about the collector belong to no call. */
export function startTracing({ endpoint, ratio }: TracesConfig, logger: Pick<Logger, 'info' | 'warn'>) {
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, timeoutMillis: EXPORT_MS });
  const processor = new BatchSpanProcessor({
    exporter: logFailures(exporter, logger),
    maxQueueSize: MAX_SPANS,
    maxExportBatchSize: BATCH,
    scheduledDelayMillis: BATCH_EVERY_MS,
    exportTimeoutMillis: EXPORT_MS,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': NAME }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [processor],
  });
  const tracer = provider.getTracer(NAME);
  const propagator = new W3CTraceContextPropagator();
  const current = new AsyncLocalStorage<Span>();

  return {
    traceId: () => current.getStore()?.spanContext().traceId,

    /** Runs a call in a span of its own. The parent is the span in `traceparent` (W3C Trace Context). */
    traceCall(call: Call, run: () => Promise<End>): void {
      const parent = propagator.extract(ROOT_CONTEXT, call, TRACE_PARENT);
      const [, service = '', method = ''] = call.operation.path.split('/');
      const attributes = { 'rpc.system': 'grpc', 'rpc.service': service, 'rpc.method': method };
      const span = tracer.startSpan(`${service}/${method}`, { kind: SpanKind.SERVER, attributes }, parent);
      void current.run(span, run).then(({ code, error }) => {
        span.setAttribute('rpc.grpc.status_code', code);
        if (error !== undefined) span.setAttribute('error.type', error.code);
        if (SERVER_ERRORS.has(code)) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      });
    },

    /** Runs `work` in a child of the current span, or without a span if none is recorded. */
    async inSpan<T>(name: string, attributes: Readonly<Record<string, string>>, work: () => Promise<T>): Promise<T> {
      const parent = current.getStore();
      if (parent === undefined || !parent.isRecording()) return work();
      const context = trace.setSpan(ROOT_CONTEXT, parent);
      const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, context);
      try {
        return await current.run(span, work);
      } catch (error) {
        // An ApiError that rolls a transaction back is not a failure of the database.
        if (!(error instanceof ApiError)) span.setStatus({ code: SpanStatusCode.ERROR });
        span.setAttribute('error.type', error instanceof ApiError ? error.code : (error as Error).name);
        throw error;
      } finally {
        span.end();
      }
    },

    /** Returns a function that always runs in the current span. */
    bind: <Args extends unknown[], T>(run: (...args: Args) => T) => AsyncLocalStorage.bind(run),

    /** Sends the remaining spans, for EXPORT_MS at most. */
    close: () => provider.shutdown().catch(() => undefined),
  };
}

/** Logs once when exports begin to fail and once when they succeed again. */
function logFailures(exporter: SpanExporter, logger: Pick<Logger, 'info' | 'warn'>): SpanExporter {
  let wasFailing = false;
  const send = exporter.export.bind(exporter);
  exporter.export = (spans, done) =>
    send(spans, (result) => {
      const isFailing = result.code !== ExportResultCode.SUCCESS;
      const cause = result.error?.message || 'it does not respond';
      if (isFailing && !wasFailing) logger.warn({ cause }, 'traces can not be sent: spans are dropped until they can');
      if (wasFailing && !isFailing) logger.info('traces are sent again');
      wasFailing = isFailing;
      done(result);
    });
  return exporter;
}
