/**
 * Traces by OpenTelemetry, sent to a collector over OTLP/HTTP. Names follow its semantic conventions.
 *
 * Whether a call is recorded its caller says in `traceparent`: whoever reaches the private port is believed, and that is
 * Envoy, which decides for callers from outside. A call without one is recorded by the share of the settings.
 *
 * Failure: nobody waits for the collector. What it does not take is kept, up to `MAX_SPANS`; those beyond are dropped.
 * One line of the log says that it can't be reached, and one that it is back.
 *
 * No span has anything that a caller has written: no header, no argument, no message of an error.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Metadata } from '@grpc/grpc-js';
import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type TextMapGetter, trace } from '@opentelemetry/api';
import { type ExportResult, ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { TracesConfig } from '../config.ts';
import { ApiError } from '../errors.ts';
import { headerOf } from '../interceptors/metadata.ts';
import type { Tracing } from './tracing.ts';

/** Spans that wait for the collector at the most: some MB. */
const MAX_SPANS = 4_096;
const BATCH = 512;
const BATCH_EVERY_MS = 1_000;
const EXPORT_MS = 3_000;
const CLOSE_MS = 2_000;

/** The gRPC statuses that are a server's fault, by OpenTelemetry's conventions for RPC. */
const FAULTS = new Set([2, 4, 12, 13, 14, 15]);

interface Listener {
  readonly onUnavailable: (cause: string) => void;
  readonly onAvailable: () => void;
}

/** Without `tracestate`: it would be in each span as the caller wrote it. */
const METADATA: TextMapGetter<Metadata> = {
  keys: () => [],
  get: (metadata, name) => (name === 'traceparent' ? headerOf({ metadata }, name) : undefined),
};

export function startTracing({ endpoint, ratio }: TracesConfig, listener: Listener): Tracing {
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, timeoutMillis: EXPORT_MS });
  const processor = new BatchSpanProcessor({
    exporter: watched(exporter, listener),
    maxQueueSize: MAX_SPANS,
    maxExportBatchSize: BATCH,
    scheduledDelayMillis: BATCH_EVERY_MS,
    exportTimeoutMillis: EXPORT_MS,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'petstore' }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [processor],
  });
  const tracer = provider.getTracer('petstore');
  const propagator = new W3CTraceContextPropagator();
  /** The span that the code runs in. */
  const current = new AsyncLocalStorage<Span>();

  const isRecording = () => current.getStore()?.isRecording() ?? false;

  return {
    traceId: () => current.getStore()?.spanContext().traceId,
    isRecording,

    async inCall(metadata, path, work) {
      const parent = propagator.extract(ROOT_CONTEXT, metadata, METADATA);
      const [, service = '', method = ''] = path.split('/');
      const attributes = { 'rpc.system': 'grpc', 'rpc.service': service, 'rpc.method': method };
      const span = tracer.startSpan(`${service}/${method}`, { kind: SpanKind.SERVER, attributes }, parent);
      const end = (grpcStatus: number, errorCode?: string) => {
        span.setAttribute('rpc.grpc.status_code', grpcStatus);
        if (errorCode !== undefined) span.setAttribute('error.type', errorCode);
        if (FAULTS.has(grpcStatus)) span.setStatus({ code: SpanStatusCode.ERROR });
      };
      try {
        return await current.run(span, () => work(end));
      } finally {
        span.end();
      }
    },

    async inSpan(name, attributes, work) {
      const parent = current.getStore();
      if (parent === undefined || !parent.isRecording()) return work();
      const context = trace.setSpan(ROOT_CONTEXT, parent);
      const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, context);
      try {
        return await current.run(span, work);
      } catch (error) {
        // A rule of ours that undoes a transaction is no failure of the database.
        if (!(error instanceof ApiError)) span.setStatus({ code: SpanStatusCode.ERROR });
        span.setAttribute('error.type', error instanceof ApiError ? error.code : typeName(error));
        throw error;
      } finally {
        span.end();
      }
    },

    bind: (run) => AsyncLocalStorage.bind(run),

    async close() {
      await Promise.race([provider.shutdown().catch(() => undefined), delay(CLOSE_MS, undefined, { ref: false })]);
    },
  };
}

function typeName(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}

/** Tells of a collector that goes and comes back, once each time. */
function watched(exporter: SpanExporter, { onUnavailable, onAvailable }: Listener): SpanExporter {
  let isUnavailable = false;
  const note = ({ code, error }: ExportResult) => {
    const isFailed = code !== ExportResultCode.SUCCESS;
    if (isFailed === isUnavailable) return;
    isUnavailable = isFailed;
    if (isFailed) onUnavailable(error?.message || 'it does not answer');
    else onAvailable();
  };
  return {
    export(spans: ReadableSpan[], done) {
      exporter.export(spans, (result) => {
        note(result);
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}
