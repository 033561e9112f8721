/**
 * What the rest of the server knows of tracing: an interface, which costs nothing when nobody traces. Only otel.ts knows
 * OpenTelemetry; it is loaded when there is a collector to send to, and not otherwise.
 */
import type { CallTracer } from '../interceptors/tracing.ts';

export type Attributes = Readonly<Record<string, string | number>>;

export interface Tracing extends CallTracer {
  /** The trace that the code which asks runs in, whether it is recorded or not. */
  traceId(): string | undefined;
  /** Whether a span that begins now is recorded. */
  isRecording(): boolean;
  /** Runs `work` in a span below the current one; just runs it where none is recorded. */
  inSpan<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T>;
  /** The function as it would run here, wherever it is called. */
  bind<Args extends unknown[], T>(run: (...args: Args) => T): (...args: Args) => T;
  /** Sends what is left, for 2 seconds at the most. */
  close(): Promise<void>;
}
