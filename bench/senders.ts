/** Sends requests of any form from an address of its own: over HTTP/1.1, and gRPC over HTTP/2. */
import { Agent, request } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { RestMakers } from '../test/shop/resources.ts';
import { PLAIN } from '../test/support/calls/frames.ts';
import { exchange, grpcHeaders, openSession, openSocket, targetOf } from '../test/support/calls/http2.ts';
import type { Scope } from '../test/support/scope.ts';
import type { TestStack } from '../test/support/service/stack.ts';

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** If there are several: a chunk each over HTTP/1.1, a frame for each byte over HTTP/2. */
  readonly body?: readonly Uint8Array[] | undefined;
  /** As gRPC always is. */
  readonly isHttp2?: boolean | undefined;
  /** When the caller leaves. */
  readonly giveUpMs?: number | undefined;
}

export interface Received {
  /** Or how it ended without one. */
  readonly status: string;
  readonly body: Buffer;
}

export type Sender = (sent: Sent) => Promise<Received>;

export function senderFrom(t: Scope, stack: TestStack, from: string): Sender {
  const [http1, http2] = [http1Sender(t, stack, from), http2Sender(t, stack, from)];
  return (sent) => (sent.isHttp2 || isGrpc(sent) ? http2(sent) : http1(sent));
}

const isGrpc = ({ headers }: Sent) => headers['content-type'] === 'application/grpc';

function http1Sender(t: Scope, { publicAddress }: TestStack, from: string): Sender {
  const { hostname, port } = new URL(`http://${publicAddress}`);
  const agent = new Agent({ keepAlive: true, localAddress: from });
  t.teardown(() => agent.destroy());
  return ({ method, path, headers, body = [], giveUpMs }) =>
    new Promise((resolve) => {
      const [only] = body.length === 1 ? body : [];
      const length = only === undefined ? {} : { 'content-length': only.length };
      const signal = giveUpMs === undefined ? {} : { signal: AbortSignal.timeout(giveUpMs) };
      const options = { agent, host: hostname, port, method, path, headers: { ...length, ...headers }, ...signal };
      const sending = request(options, (got) => {
        const chunks: Buffer[] = [];
        got.on('data', (chunk: Buffer) => chunks.push(chunk));
        got.on('close', () => resolve({ status: `${got.statusCode}`, body: Buffer.concat(chunks) }));
        got.on('error', () => undefined); // "close" follows
      });
      // Envoy may close a connection after a response, while more of the request comes.
      sending.on('error', ({ name }) =>
        resolve({ status: name === 'AbortError' ? 'left' : 'reset', body: Buffer.of() }),
      );
      for (const piece of body) sending.write(piece);
      sending.end();
    });
}

/** Envoy closes a connection that is not in use, or has had many resets. */
function http2Sender(t: Scope, stack: TestStack, from: string): Sender {
  const open = (isSplit: boolean) => {
    const target = targetOf(stack.publicAddress, from);
    const socket = openSocket(target);
    return openSession(target, 0, {}, isSplit ? new SplittingSocket(socket) : socket);
  };
  const sessions = new Map<boolean, ReturnType<typeof open>>();
  t.teardown(async () => {
    for (const session of sessions.values()) (await session).destroy();
  });
  return async (sent) => {
    const { method, path, headers, body = [], giveUpMs = 60_000 } = sent;
    const isSplit = body.length > 1;
    let session = await sessions.get(isSplit);
    if (session === undefined || session.closed) {
      const opening = open(isSplit);
      sessions.set(isSplit, opening);
      session = await opening;
    }
    const all = { ...PLAIN, ...(isGrpc(sent) ? grpcHeaders(path) : { ':method': method, ':path': path }), ...headers };
    const got = await exchange(session, all, { body: isSplit ? [Buffer.concat(body)] : body, giveUpMs });
    if (got.outcome === 'closed') sessions.delete(isSplit);
    const { outcome, status, headers: fields, body: received } = got;
    const answer = isGrpc(sent) ? `grpc ${fields.get('grpc-status')}` : String(status);
    return { status: outcome === 'answered' ? answer : outcome, body: received };
  };
}

/** Makes what a form needs, by the requests of its own caller, and counts these. */
export class Maker extends RestMakers {
  requests = 0;
  readonly #send: (request: Pick<Sent, 'method' | 'path' | 'body'>) => Promise<Received>;

  constructor(send: Sender, authorization: () => string) {
    super();
    this.#send = (request) => {
      this.requests += 1;
      const headers = { 'content-type': 'application/json', authorization: authorization() };
      return send({ ...request, headers });
    };
  }

  put(path: string, json: unknown): Promise<Received> {
    return this.#send({ method: 'PUT', path, body: [Buffer.from(JSON.stringify(json))] });
  }

  async created(path: string, json: unknown) {
    const { status, body } = await this.#send({ method: 'POST', path, body: [Buffer.from(JSON.stringify(json))] });
    if (status !== '201') throw new Error(`POST ${path} answered ${status}: ${body}`);
    return JSON.parse(body.toString());
  }
}

/** RFC 9113, sections 3.4, 4.1 and 6.1. */
const [PREFACE_BYTES, HEADER_BYTES, END_STREAM] = [24, 9, 0x1];

/**
 * A connection of HTTP/2 whose DATA frames have a byte each, all that is ready in one write. To send that many from
 * Node costs the sender more than the service, whose cores it may share.
 */
class SplittingSocket extends Duplex {
  readonly #socket: Socket;
  /** What has not been sent. */
  #bytes: Buffer = Buffer.of();
  #isBegun = false;

  constructor(socket: Socket) {
    super();
    this.#socket = socket;
    socket.on('data', (chunk) => this.push(chunk)).on('close', () => this.destroy());
  }

  override _write(chunk: Buffer, _encoding: unknown, callback: (error?: Error | null) => void): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    const frames: Buffer[] = [];
    const take = (length: number) => {
      const taken = this.#bytes.subarray(0, length);
      this.#bytes = this.#bytes.subarray(length);
      return taken;
    };
    if (!this.#isBegun && this.#bytes.length >= PREFACE_BYTES) {
      this.#isBegun = true;
      frames.push(take(PREFACE_BYTES));
    }
    while (this.#isBegun && this.#bytes.length >= HEADER_BYTES) {
      const length = HEADER_BYTES + this.#bytes.readUIntBE(0, 3);
      if (this.#bytes.length < length) break;
      frames.push(...split(take(length)));
    }
    this.#socket.write(Buffer.concat(frames), callback);
  }

  override _read(): void {}

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#socket.destroy();
    callback(error);
  }
}

function split(frame: Buffer): readonly Buffer[] {
  const [header, data] = [frame.subarray(0, HEADER_BYTES), frame.subarray(HEADER_BYTES)];
  if (header[3] !== 0 || data.length < 2) return [frame]; // no DATA
  return Array.from(data, (byte, index) => {
    const one = Buffer.concat([header, Buffer.of(byte)]);
    one.writeUIntBE(1, 0, 3);
    if (index < data.length - 1) one.writeUInt8(Number(header[4]) & ~END_STREAM, 4);
    return one;
  });
}
