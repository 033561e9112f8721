/** A collector of traces: an OTLP/HTTP receiver that decodes the spans. */
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { listen } from '../../support/machine/ports.ts';
import type { Scope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

export type Span = ReturnType<typeof decode>[number];
export type Collector = Awaited<ReturnType<typeof startCollector>>;

export const [SERVER, CLIENT] = [2, 3];

/** Starts a collector, which ends with the test, or with all tests of a file. */
export async function startCollector(t: Scope) {
  const spans: Span[] = [];
  const sockets = new Set<Socket>();
  let [received, isFrozen] = ['', false];
  const server = createServer(async (request, response) => {
    if (isFrozen) return;
    const body = await buffer(request);
    received += body.toString('latin1');
    const isTraces = request.method === 'POST' && request.url === '/v1/traces';
    if (isTraces) spans.push(...decode(body));
    response.writeHead(isTraces ? 200 : 404, { 'content-type': 'application/x-protobuf' }).end();
  });
  server.on('connection', (socket) => sockets.add(socket.on('close', () => sockets.delete(socket))));
  t.teardown(() => sockets.forEach((socket) => void socket.destroy()));
  return {
    /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
    url: `http://${await listen(t, server)}`,
    spans,
    /** All received bytes as text, to check what they do not contain. */
    get received() {
      return received;
    },
    /** From now on accepts requests without responding. */
    freeze() {
      isFrozen = true;
    },
    thaw() {
      isFrozen = false;
    },
  };
}

/** The caller's span id in `traceparent`. */
export const PARENT = 'b7ad6b7169203331';
let traces = 0;

/** Returns a new trace id, and a traceparent with it. */
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

/** The values of a protobuf message's fields, by number: bytes or integers. */
function fieldsOf(bytes: Uint8Array) {
  const values = new Map<number, (Uint8Array | bigint)[]>();
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    const all = values.get(number) ?? [];
    values.set(number, all);
    if (type === WireType.LengthDelimited) all.push(reader.bytes());
    else if (type === WireType.Varint) all.push(BigInt(reader.uint64()));
    else if (type === WireType.Bit64) all.push(BigInt(reader.fixed64()));
    else reader.skip(type, number);
  }
  const first = (number: number) => values.get(number)?.[0];
  const bytesOf = (number: number) => Buffer.from((first(number) as Uint8Array | undefined) ?? []);
  return {
    has: (number: number) => values.has(number),
    messages: (number: number): Fields[] => (values.get(number) ?? []).map((one) => fieldsOf(one as Uint8Array)),
    bytes: bytesOf,
    text: (number: number) => bytesOf(number).toString(),
    number: (number: number) => Number(first(number) ?? 0),
  };
}

interface Fields extends ReturnType<typeof fieldsOf> {}

/** Decodes an ExportTraceServiceRequest (opentelemetry/proto/trace/v1/trace.proto). */
function decode(body: Uint8Array) {
  const request = fieldsOf(body);
  return request.messages(1).flatMap((resourceSpans) => {
    const resource = attributesOf(resourceSpans.messages(1)[0], 1);
    const spans = resourceSpans.messages(2).flatMap((scopeSpans) => scopeSpans.messages(2));
    return spans.map((span) => ({
      traceId: span.bytes(1).toString('hex'),
      spanId: span.bytes(2).toString('hex'),
      /** Empty at the root. */
      parentSpanId: span.bytes(4).toString('hex'),
      name: span.text(5),
      kind: span.number(6),
      service: String(resource['service.name']),
      attributes: attributesOf(span, 9),
      /** 2 is an error. */
      status: span.messages(15)[0]?.number(3) ?? 0,
    }));
  });
}

function attributesOf(message: Fields | undefined, number: number): Record<string, unknown> {
  const pairs = (message?.messages(number) ?? []).map((pair): [string, unknown] => {
    const [value] = pair.messages(2);
    const content = value?.has(1) ? value.text(1) : value?.has(2) ? value.number(2) === 1 : value?.number(3);
    return [pair.text(1), content];
  });
  return Object.fromEntries(pairs);
}
