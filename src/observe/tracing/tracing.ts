/**
 * The interface of tracing. Only otel.ts uses OpenTelemetry; it is loaded only when a collector is configured, so that
 * tracing costs nothing without one.
 */
import type { Call, End } from '../../rpc/chain.ts';

export type Attributes = Readonly<Record<string, string | number>>;

export interface Tracing {
  /** Runs a call in a span of its own. The parent is the span in `traceparent` (W3C Trace Context). */
  traceCall(call: Call, run: () => Promise<End>): void;
  /** Returns the id of the current trace, recorded or not. */
  traceId(): string | undefined;
  /** Whether the current trace is recorded. */
  isRecording(): boolean;
  /** Runs `work` in a child of the current span, or without a span if none is recorded. */
  inSpan<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T>;
  /** Returns a function that always runs in the current span. */
  bind<Args extends unknown[], T>(run: (...args: Args) => T): (...args: Args) => T;
  /** Sends the remaining spans, for 2 seconds at most. */
  close(): Promise<void>;
}
