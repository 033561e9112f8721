/** A collector of traces: an OTLP/HTTP receiver that decodes the spans. */
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { listen, type Scope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

export type Span = ReturnType<typeof decode>[number];
export type Collector = Awaited<ReturnType<typeof startCollector>>;

export const [SERVER, CLIENT] = [2, 3];

export async function startCollector(t: Scope) {
  const server = createServer(async (request, response) => {
    if (collector.isFrozen) return;
    const body = await buffer(request);
    collector.received += body.toString('latin1');
    const isTraces = request.method === 'POST' && request.url === '/v1/traces';
    if (isTraces) collector.spans.push(...decode(body));
    response.writeHead(isTraces ? 200 : 404, { 'content-type': 'application/x-protobuf' }).end();
  });
  const collector = {
    /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
    url: `http://${await listen(t, server)}`,
    spans: [] as Span[],
    /** All received bytes as text, to check what they do not contain. */
    received: '',
    isFrozen: false,
  };
  t.teardown(() => server.closeAllConnections());
  return collector;
}

/** The caller's span id in `traceparent`. */
export const PARENT = 'b7ad6b7169203331';
let traces = 0;

export function newTrace(flags = '01'): { readonly traceId: string; readonly traceparent: string } {
  traces += 1;
  const traceId = traces.toString(16).padStart(32, 'c');
  return { traceId, traceparent: `00-${traceId}-${PARENT}-${flags}` };
}

/** Resolves with the spans of a trace by name, once all of `names` have arrived. */
export function spansOf(collector: Collector, traceId: string, names: readonly string[]): Promise<Map<string, Span>> {
  return until(() => {
    const spans = new Map(collector.spans.filter((span) => span.traceId === traceId).map((span) => [span.name, span]));
    return names.every((name) => spans.has(name)) && spans;
  }, `a trace with ${names}`);
}

type Value = Uint8Array | number;

/** The values of a protobuf message's fields, by number. */
function fieldsOf(message: Value): readonly Value[][] {
  const values: Value[][] = [];
  const reader = new BinaryReader(message as Uint8Array);
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (type === WireType.LengthDelimited) values[number] = [...(values[number] ?? []), reader.bytes()];
    else if (type === WireType.Varint) values[number] = [Number(reader.uint64())];
    else reader.skip(type, number);
  }
  return values;
}

/** The values at the end of a path of fields. */
const at = (message: Value, ...path: readonly number[]): Value[] =>
  path.reduce<Value[]>((found, number) => found.flatMap((one) => fieldsOf(one)[number] ?? []), [message]);
const bytesAt = (message: Value, ...path: readonly number[]) =>
  Buffer.from((at(message, ...path)[0] ?? []) as Uint8Array);

/** Decodes an ExportTraceServiceRequest (opentelemetry/proto/trace/v1/trace.proto). */
function decode(body: Uint8Array) {
  return at(body, 1).flatMap((resourceSpans) => {
    const resource = attributesOf(at(resourceSpans, 1, 1));
    return at(resourceSpans, 2, 2).map((span) => ({
      traceId: bytesAt(span, 1).toString('hex'),
      spanId: bytesAt(span, 2).toString('hex'),
      /** Empty at the root. */
      parentSpanId: bytesAt(span, 4).toString('hex'),
      name: String(bytesAt(span, 5)),
      kind: at(span, 6)[0],
      service: String(resource['service.name']),
      attributes: attributesOf(at(span, 9)),
      /** 2 is an error. */
      status: at(span, 15, 3)[0] ?? 0,
    }));
  });
}

/** A text is field 1 of the value, an integer field 3. */
function attributesOf(pairs: readonly Value[]): Readonly<Record<string, unknown>> {
  const value = (pair: Value) => String(bytesAt(pair, 2, 1)) || at(pair, 2, 3)[0];
  return Object.fromEntries(pairs.map((pair) => [String(bytesAt(pair, 1)), value(pair)]));
}
