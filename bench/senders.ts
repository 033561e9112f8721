/** Sends requests of any form from an address of its own: over HTTP/1.1, and gRPC over HTTP/2. */
import { Agent, request } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { PLAIN } from '../test/support/calls/frames.ts';
import { exchange, grpcHeaders, openSession, openSocket, targetOf } from '../test/support/calls/http2.ts';
import type { Scope } from '../test/support/scope.ts';
import type { TestStack } from '../test/support/service/stack.ts';

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** In a chunk or frame each, if there are several: the frames in one write. */
  readonly body?: readonly Uint8Array[] | undefined;
  /** As gRPC always is. */
  readonly isHttp2?: boolean | undefined;
  /** When the caller leaves. */
  readonly giveUpMs?: number | undefined;
}

export interface Received {
  /** Or how it ended without one. */
  readonly status: string;
  /** Of the body. */
  readonly bytes: number;
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
        let bytes = 0;
        got.on('data', (chunk: Buffer) => (bytes += chunk.length));
        got.on('close', () => resolve({ status: `${got.statusCode}`, bytes }));
        got.on('error', () => undefined); // "close" follows
      });
      // Envoy may close a connection after a response, while more of the request comes.
      sending.on('error', ({ name }) => resolve({ status: name === 'AbortError' ? 'left' : 'reset', bytes: 0 }));
      for (const piece of body) sending.write(piece);
      sending.end();
    });
}

/** Envoy closes a connection that is not in use, or has had many resets. */
function http2Sender(t: Scope, stack: TestStack, from: string): Sender {
  const open = async () => {
    const target = targetOf(stack.publicAddress, from);
    const socket = new JoiningSocket(openSocket(target));
    return { session: await openSession(target, 0, {}, socket), socket };
  };
  let opening: ReturnType<typeof open> | undefined;
  t.teardown(async () => (await opening)?.session.destroy());
  return async (sent) => {
    const { method, path, headers, body = [], giveUpMs = 60_000 } = sent;
    opening ??= open();
    if ((await opening).session.closed) opening = open();
    const { session, socket } = await opening;
    const all = { ...PLAIN, ...(isGrpc(sent) ? grpcHeaders(path) : { ':method': method, ':path': path }), ...headers };
    if (body.length > 1) socket.join();
    const got = await exchange(session, all, { body, giveUpMs });
    if (got.outcome === 'closed') opening = undefined;
    const { outcome, status, headers: fields, body: received } = got;
    const answer = isGrpc(sent) ? `grpc ${fields.get('grpc-status')}` : String(status);
    return { status: outcome === 'answered' ? answer : outcome, bytes: received.length };
  };
}

/** For how long nothing is written when all that is to be joined has been. */
const JOINED_MS = 2;

/** A connection that can send many frames in one write: Node would write each by itself. */
class JoiningSocket extends Duplex {
  readonly #socket: Socket;
  #joined: Buffer[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(socket: Socket) {
    super();
    this.#socket = socket;
    socket.on('data', (chunk) => this.push(chunk)).on('close', () => this.destroy());
  }

  /** Sends what is written from now on at once, when no more comes. */
  join(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#socket.write(Buffer.concat(this.#joined));
      this.#joined = [];
    }, JOINED_MS);
  }

  override _write(chunk: Buffer, _encoding: unknown, callback: (error?: Error | null) => void): void {
    if (this.#timer === undefined) {
      this.#socket.write(chunk, callback);
      return;
    }
    this.#joined.push(chunk);
    this.#timer.refresh();
    callback();
  }

  override _read(): void {}

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#socket.destroy();
    callback(error);
  }
}
