/** Sends the inputs of fuzz-inputs.ts and checks each response: no 5xx, and errors of the contract's form. */
import { type ClientHttp2Session, constants } from 'node:http2';
import { checkPromises } from '../contract.ts';
import type { TestStack } from '../stack.ts';
import { type FuzzInput, fuzzInputs, KEY } from './fuzz-inputs.ts';
import { type Http1Answer, Http1Connection } from './http1-connection.ts';
import { type Pids, pidsOf, rssBytes } from './resources.ts';
import { grpcHeaders, openSession, type Target, targetOf } from './sockets.ts';

export interface FuzzOptions {
  readonly seed: number;
  readonly count: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (done: number) => void;
}

export interface FuzzReport {
  /** The number of responses by kind: `http1 404`, `grpc 3`. */
  readonly answers: Readonly<Record<string, number>>;
  /** Each kind of wrong response, with its number and its first input. */
  readonly faults: readonly Fault[];
  /** How much each process grew after it was warm, in bytes. */
  readonly growth: Pids;
}

export interface Fault {
  readonly what: string;
  readonly first: FuzzInput;
  readonly index: number;
  count: number;
}

/** The most kinds of wrong responses that are kept. */
const MAX_FAULT = 400;
const WORKERS = 24;
const BATCH = 500;
/** After so many inputs caches are full and code is compiled. */
const WARM_SHARE = 0.3;
/** Changed bytes may no longer be a request, and then there may be no response. */
const SILENCE_MS = 300;
const GIVE_UP_MS = 20_000;

export async function fuzz(stack: TestStack, { seed, count, signal, onProgress }: FuzzOptions): Promise<FuzzReport> {
  await stock(stack);
  const pids = pidsOf(stack);
  const answers: Record<string, number> = {};
  const faults = new Map<string, Fault>();
  const target = targetOf(stack.publicAddress, '127.0.0.1');
  const senders = Array.from({ length: WORKERS }, () => new Sender(target, stack.key));
  let warm: Pids | undefined;
  const inputs = allInputs(seed, count);
  const work = async (sender: Sender) => {
    for (const [index, input] of inputs) {
      signal?.throwIfAborted();
      if (warm === undefined && index >= count * WARM_SHARE) warm = memoryOf(pids);
      if (index % BATCH === 0) onProgress?.(index);
      const { answer, fault } = await sender.send(input);
      answers[answer] = (answers[answer] ?? 0) + 1;
      if (fault !== undefined) addFault(faults, `${input.kind}: ${fault}`.slice(0, MAX_FAULT), input, index);
    }
  };
  try {
    await Promise.all(senders.map(work));
    const end = memoryOf(pids);
    const start = warm ?? end;
    const growth = { envoy: end.envoy - start.envoy, server: end.server - start.server };
    return { answers, faults: [...faults.values()], growth };
  } finally {
    for (const sender of senders) sender.close();
  }
}

/** All inputs with their indexes, generated in batches. */
function* allInputs(seed: number, count: number): Generator<readonly [index: number, input: FuzzInput]> {
  for (let first = 0; first < count; first += BATCH) {
    const batch = fuzzInputs(seed, first, Math.min(BATCH, count - first));
    for (const [offset, input] of batch.entries()) yield [first + offset, input];
  }
}

/** Creates objects with the inputs' ids, so that some requests find them. */
async function stock({ rest }: TestStack): Promise<void> {
  for (let i = 0; i < 20; i += 1) await rest.pet({ stock: 1_000 });
  for (let i = 0; i < 20; i += 1) await rest.order({ petId: 1 + i });
}

function memoryOf({ envoy, server }: Pids): Pids {
  return { envoy: rssBytes(envoy), server: rssBytes(server) };
}

function addFault(faults: Map<string, Fault>, what: string, first: FuzzInput, index: number): void {
  // The same fault has different numbers and quoted words.
  const kind = what.replace(/\b[A-Z]+ breaks|"[^:]*"|(?<=header [a-z-]+:).*/gs, '…').slice(0, 100);
  const known = faults.get(kind);
  if (known === undefined) faults.set(kind, { what, first, index, count: 1 });
  else known.count += 1;
}

interface Sent {
  /** For the count. */
  readonly answer: string;
  /** The fault of the response. */
  readonly fault?: string | undefined;
}

class Sender {
  readonly #target: Target;
  readonly #key: string;
  readonly #http1: Http1Connection;
  #session: ClientHttp2Session | undefined;

  constructor(target: Target, key: string) {
    this.#target = target;
    this.#key = key;
    this.#http1 = new Http1Connection(target);
  }

  close(): void {
    this.#http1.close();
    this.#session?.destroy();
  }

  async send(input: FuzzInput): Promise<Sent> {
    try {
      return await this.#send(input);
    } catch (error) {
      return { answer: `${input.kind} without a right answer`, fault: (error as Error).message };
    }
  }

  #send(input: FuzzInput): Promise<Sent> {
    switch (input.kind) {
      case 'http1':
        return this.#sendHttp1(input);
      case 'http2':
        return this.#sendHttp2(input);
      case 'bytes':
        return this.#sendBytes(input.bytes);
      case 'grpc':
        return this.#sendGrpc(withDeadline(input));
      case 'grpc-web':
        return this.#sendGrpcWeb(withDeadline(input));
    }
  }

  async #sendHttp1({ method, path, headers, body, isChunked }: RestInput): Promise<Sent> {
    const lines = this.#own(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const framing =
      body === undefined ? '' : isChunked ? 'transfer-encoding: chunked' : `content-length: ${body.length}`;
    const sent = body === undefined || !isChunked ? (body ?? '') : chunked(body);
    const head = `${method} ${path} HTTP/1.1\r\nhost: petstore\r\n${lines.join('')}`;
    const request = `${head}${framing === '' ? '' : `${framing}\r\n`}\r\n${sent}`;
    const answer = await this.#http1.exchange(Buffer.from(request, 'latin1'), { isHead: method === 'HEAD' });
    if (typeof answer === 'string') throw new Error(`no answer: ${answer}`);
    return { answer: `http1 ${answer.status}`, fault: faultOf(method, answer) };
  }

  async #sendBytes(bytes: string): Promise<Sent> {
    const connection = new Http1Connection(this.#target);
    const request = Buffer.from(bytes.replaceAll(KEY, this.#key), 'latin1');
    const answer = await connection.exchange(request, { giveUpMs: SILENCE_MS });
    connection.close();
    if (typeof answer === 'string') return { answer: `bytes ${answer}` };
    return { answer: `bytes ${answer.status}`, fault: faultOf(bytes.split(' ', 1)[0] ?? '', answer) };
  }

  async #sendHttp2({ method, path, headers, body }: RestInput): Promise<Sent> {
    const own = Object.fromEntries(this.#own(headers).filter(([name]) => name !== 'te'));
    const received = await this.#stream({ ...own, ':method': method, ':path': path }, body);
    if (received === undefined) return { answer: 'http2 not sent' };
    if (received === 'malformed') return { answer: 'http2 malformed' };
    const { ':status': status, ...fields } = received.headers;
    const pairs = Object.entries(fields).map(([name, value]): [string, string] => [name, String(value)]);
    const answer = { status: Number(status), headers: new Headers(pairs), body: received.body };
    return { answer: `http2 ${answer.status}`, fault: faultOf(method, answer) };
  }

  async #sendGrpc({ path, headers, bytes }: GrpcInput): Promise<Sent> {
    const own = Object.fromEntries(this.#own(headers).filter(([name]) => name !== 'te'));
    const received = await this.#stream({ ...own, ...grpcHeaders(path) }, bytes);
    if (received === undefined) return { answer: 'grpc not sent' };
    if (received === 'malformed') return { answer: 'grpc malformed' };
    const { 'grpc-status': status, 'grpc-message': message = '', ':status': http } = received.headers;
    const fault = grpcFault({ path, headers, http: Number(http), status, message: String(message) });
    return { answer: `grpc ${status ?? `HTTP ${http}`}`, fault };
  }

  async #sendGrpcWeb({ path, headers, bytes }: GrpcInput): Promise<Sent> {
    const lines = this.#own(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `POST ${path} HTTP/1.1\r\nhost: petstore\r\n${lines.join('')}content-type: application/grpc-web\r\n`;
    const request = Buffer.from(`${head}content-length: ${bytes.length}\r\n\r\n${bytes}`, 'latin1');
    const answer = await this.#http1.exchange(request);
    if (typeof answer === 'string') throw new Error(`no answer: ${answer}`);
    const trailers = answer.body.toString('latin1');
    const status = answer.headers.get('grpc-status') ?? /grpc-status: ?(\d+)/.exec(trailers)?.[1];
    const message = answer.headers.get('grpc-message') ?? /grpc-message: ?(.*)/.exec(trailers)?.[1] ?? '';
    // A gRPC-Web client takes a 404 for UNIMPLEMENTED.
    if (status === undefined && answer.status === 404) return { answer: 'grpc-web HTTP 404' };
    const fault = grpcFault({ path, headers, http: answer.status, status, message });
    return { answer: `grpc-web ${status}`, fault };
  }

  #own(headers: readonly (readonly [string, string])[]): [string, string][] {
    return headers.map(([name, value]) => [name, value.replaceAll(KEY, this.#key)]);
  }

  /**
   * Sends one request over HTTP/2; undefined when Node refuses to. A malformed request (RFC 9113, section 8.1.1) may be
   * reset without a response.
   */
  async #stream(
    headers: Readonly<Record<string, unknown>>,
    body: string | undefined,
  ): Promise<Received | 'malformed' | undefined> {
    if (this.#session === undefined || this.#session.closed || this.#session.destroyed) {
      this.#session = await openSession(this.#target);
    }
    const session = this.#session;
    let stream: ReturnType<ClientHttp2Session['request']>;
    try {
      stream = session.request(headers as Record<string, string>, { endStream: body === undefined });
    } catch {
      return undefined;
    }
    let received: Record<string, unknown> = {};
    const chunks: Buffer[] = [];
    const add = (more: object) => {
      received = { ...received, ...more };
    };
    stream.on('response', add).on('trailers', add);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', () => undefined);
    const closed = new Promise<void>((resolve) => stream.on('close', () => resolve()));
    if (body !== undefined) stream.end(Buffer.from(body, 'latin1'));
    const timer = setTimeout(() => stream.destroy(), GIVE_UP_MS);
    await closed;
    clearTimeout(timer);
    if (received[':status'] !== undefined) return { headers: received, body: Buffer.concat(chunks) };
    if (!String(headers[':path']).startsWith('/') || stream.rstCode === constants.NGHTTP2_PROTOCOL_ERROR)
      return 'malformed';
    throw new Error(`the stream ended without an answer, with code ${stream.rstCode}`);
  }
}

type RestInput = Extract<FuzzInput, { kind: 'http1' | 'http2' }>;
type GrpcInput = Extract<FuzzInput, { kind: 'grpc' | 'grpc-web' }>;

/** Gives a stream, which does not end by itself, a deadline of 200 ms. */
function withDeadline<Input extends GrpcInput>(input: Input): Input {
  if (!input.path.endsWith('/WatchEvents')) return input;
  const headers = input.headers.filter(([name]) => name !== 'grpc-timeout');
  return { ...input, headers: [...headers, ['grpc-timeout', '200m']] };
}

interface Received {
  /** Including trailers. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

interface GrpcEnd {
  readonly path: string;
  readonly headers: GrpcInput['headers'];
  readonly http: number;
  readonly status: unknown;
  readonly message: string;
}

function grpcFault({ path, headers, http, status, message }: GrpcEnd): string | undefined {
  if (http !== 200) return `the HTTP status is ${http}`;
  if (status === undefined) return 'there is no grpc-status';
  const code = Number(status);
  const hasDeadline = headers.some(([name]) => name === 'grpc-timeout');
  if (OUR_FAULTS.has(code) || (code === 4 && !hasDeadline)) return `grpc-status ${code}: ${decoded(message)}`;
  const isBare = code !== 0 && message === '' && path.startsWith('/petstore.v1.');
  return isBare ? `grpc-status ${code} says nothing` : undefined;
}

/** Decodes a percent-encoded header value. */
function decoded(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}

/** UNKNOWN, INTERNAL, UNAVAILABLE, DATA_LOSS. */
const OUR_FAULTS: ReadonlySet<number> = new Set([2, 13, 14, 15]);

function faultOf(method: string, { status, headers, body }: Http1Answer): string | undefined {
  const text = body.toString();
  if (!(status >= 200 && status < 500)) return `it is a ${status}: ${text}`;
  if (status >= 400 && !headers.has('x-request-id')) return `a ${status} without an x-request-id: ${text}`;
  try {
    checkPromises(method, status, headers, text);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function chunked(body: string): string {
  const half = Math.floor(body.length / 2);
  const parts = [body.slice(0, half), body.slice(half)].filter((part) => part !== '');
  return `${parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')}0\r\n\r\n`;
}
