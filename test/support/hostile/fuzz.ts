/** Sends the inputs of fuzz-inputs.ts and checks each response: no 5xx, and errors of the contract's form. */
import { type ClientHttp2Session, constants } from 'node:http2';
import type { TestStack } from '../stack.ts';
import { type Answer, faultOf, type Protocol, statusOfGrpc } from './answers.ts';
import { type FuzzInput, fuzzInputs, type Header, KEY } from './fuzz-inputs.ts';
import { Http1Connection, type NoAnswer } from './http1-connection.ts';
import { exchange } from './http2.ts';
import { type Pids, pidsOf, rssBytes } from './resources.ts';
import { grpcHeaders, openSession, type Target, targetOf, toHeaders } from './sockets.ts';

export interface FuzzReport {
  /** The number of responses by kind: `http1 404`, `grpc 3`. */
  readonly answers: Readonly<Record<string, number>>;
  /** Each kind of wrong response, with its number and its first input. */
  readonly faults: readonly string[];
  /** How much each process grew after it was warm, in bytes. */
  readonly growth: Pids;
}

const WORKERS = 24;
const BATCH = 500;
/** After so many inputs caches are full and code is compiled. */
const WARM_SHARE = 0.3;
/** Changed bytes may no longer be a request, and then there may be no response. */
const SILENCE_MS = 300;
const GIVE_UP_MS = 20_000;
const MAX_CHARACTERS = 600;

export async function fuzz(stack: TestStack, seed: number, count: number): Promise<FuzzReport> {
  // Some requests find objects with the ids of the inputs.
  for (let i = 0; i < 20; i += 1) await stack.rest.order({ petId: await stack.rest.pet({ stock: 1_000 }) });
  const pids = pidsOf(stack);
  const memory = () => ({ envoy: rssBytes(pids.envoy), server: rssBytes(pids.server) });
  const answers: Record<string, number> = {};
  const faults = new Map<string, { readonly first: string; count: number }>();
  const target = targetOf(stack.publicAddress, '127.0.0.1');
  const senders = Array.from({ length: WORKERS }, () => new Sender(target, stack.key));
  let warm: Pids | undefined;
  const inputs = allInputs(seed, count);
  const work = async (sender: Sender) => {
    for (const [index, input] of inputs) {
      if (index >= count * WARM_SHARE) warm ??= memory();
      const { answer, fault } = await sender
        .send(input)
        .catch((error: Error) => ({ answer: '', fault: error.message }));
      answers[`${input.kind} ${answer}`] = (answers[`${input.kind} ${answer}`] ?? 0) + 1;
      if (fault === undefined) continue;
      // The same fault has different numbers and quoted words.
      const kind = fault.replace(/\b[A-Z]+ breaks|"[^:]*"|(?<=header [a-z-]+:).*/gs, '…').slice(0, 100);
      const first = `${input.kind}: ${fault}, first #${index}: ${JSON.stringify(input)}`.slice(0, MAX_CHARACTERS);
      const known = faults.get(kind) ?? { first, count: 0 };
      faults.set(kind, { ...known, count: known.count + 1 });
    }
  };
  try {
    await Promise.all(senders.map(work));
    const [start, end] = [warm ?? memory(), memory()];
    const growth = { envoy: end.envoy - start.envoy, server: end.server - start.server };
    return { answers, faults: [...faults.values()].map((one) => `${one.count} times ${one.first}`), growth };
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

interface Sent {
  /** The status, or why there is none. */
  readonly answer: string;
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
    switch (input.kind) {
      case 'bytes': {
        const connection = new Http1Connection(this.#target);
        const request = Buffer.from(this.#withKey(input.bytes), 'latin1');
        const answer = await connection.exchange(request, { giveUpMs: SILENCE_MS });
        connection.close();
        return typeof answer === 'string' ? { answer } : judged('HTTP/1.1', input.bytes.split(' ', 1)[0], answer);
      }
      case 'http1': {
        const { method, path, headers, body, isChunked } = input;
        return judged('HTTP/1.1', method, await this.#overHttp1(method, path, headers, body, isChunked));
      }
      case 'http2': {
        const { method, path, headers, body } = input;
        return judged('REST', method, await this.#overHttp2({ ':method': method, ':path': path }, headers, body));
      }
      case 'grpc':
        return judgedGrpc(input, 'gRPC', await this.#overHttp2(grpcHeaders(input.path), deadlined(input), input.bytes));
      case 'grpc-web': {
        const headers: Header[] = [...deadlined(input), ['content-type', 'application/grpc-web']];
        return judgedGrpc(input, 'gRPC-Web', await this.#overHttp1('POST', input.path, headers, input.bytes, false));
      }
    }
  }

  #withKey(text: string): string {
    return text.replaceAll(KEY, this.#key);
  }

  async #overHttp1(
    method: string,
    path: string,
    headers: readonly Header[],
    body: string | undefined,
    isChunked: boolean,
  ): Promise<Answer | NoAnswer> {
    const framing = isChunked ? 'transfer-encoding: chunked\r\n' : `content-length: ${body?.length}\r\n`;
    const lines = headers.map(([name, value]) => `${name}: ${this.#withKey(value)}\r\n`);
    if (body !== undefined) lines.push(framing);
    const head = `${method} ${path} HTTP/1.1\r\nhost: petstore\r\n${lines.join('')}`;
    const sent = body !== undefined && isChunked ? chunked(body) : (body ?? '');
    return this.#http1.exchange(Buffer.from(`${head}\r\n${sent}`, 'latin1'), { isHead: method === 'HEAD' });
  }

  /** A malformed request (RFC 9113, section 8.1.1) may be reset without a response. */
  async #overHttp2(
    pseudo: object,
    headers: readonly Header[],
    body: string | undefined,
  ): Promise<Answer | NoAnswer | 'not sent' | 'malformed'> {
    if (this.#session === undefined || this.#session.closed || this.#session.destroyed) {
      this.#session = await openSession(this.#target);
    }
    const own = Object.fromEntries(
      headers.flatMap(([name, value]) => (name === 'te' ? [] : [[name, this.#withKey(value)]])),
    );
    const all: Record<string, string> = { ...own, ...pseudo };
    const sent = { body: body === undefined ? undefined : Buffer.from(body, 'latin1'), giveUpMs: GIVE_UP_MS };
    let exchanging: ReturnType<typeof exchange>;
    try {
      exchanging = exchange(this.#session, all, sent);
    } catch {
      return 'not sent'; // Node refuses to
    }
    const { headers: received, body: content, resetCode } = await exchanging;
    const status = received[':status'];
    if (status !== undefined) return { status: Number(status), headers: toHeaders(received), body: content };
    const isMalformed = !all[':path']?.startsWith('/') || resetCode === constants.NGHTTP2_PROTOCOL_ERROR;
    if (isMalformed) return 'malformed';
    throw new Error(`the stream ended without an answer, with code ${resetCode}`);
  }
}

type GrpcInput = Extract<FuzzInput, { kind: 'grpc' | 'grpc-web' }>;

/** Gives a stream, which does not end by itself, a deadline of 200 ms. */
function deadlined({ path, headers }: GrpcInput): readonly Header[] {
  if (!path.endsWith('/WatchEvents')) return headers;
  return [...headers.filter(([name]) => name !== 'grpc-timeout'), ['grpc-timeout', '200m']];
}

function judged(protocol: Protocol, method = '', answer: Answer | string): Sent {
  if (typeof answer !== 'string') {
    return { answer: `${answer.status}`, fault: faultOf({ protocol, method, mayShed: false }, answer) };
  }
  return { answer, fault: answer === 'closed' || answer === 'silence' ? `no answer: ${answer}` : undefined };
}

const DEADLINE_EXCEEDED = 4;

function judgedGrpc(input: GrpcInput, protocol: Protocol, answer: Answer | string): Sent {
  const { fault, answer: status } = judged(protocol, 'POST', answer);
  const code = typeof answer === 'string' ? undefined : statusOfGrpc(answer);
  const isForeign = !input.path.startsWith('/petstore.v1.');
  if (fault?.endsWith(' says nothing') && isForeign) return { answer: `${code}` };
  const isLate = code === DEADLINE_EXCEEDED && !deadlined(input).some(([name]) => name === 'grpc-timeout');
  return { answer: code === undefined ? status : `${code}`, fault: isLate ? 'it is DEADLINE_EXCEEDED' : fault };
}

/** In two chunks (RFC 9112, section 7.1). */
function chunked(body: string): string {
  const half = Math.floor(body.length / 2);
  return [body.slice(0, half), body.slice(half), '']
    .filter((part, index) => part !== '' || index === 2)
    .map((part) => `${part.length.toString(16)}\r\n${part}\r\n`)
    .join('');
}
