/** Sends requests of any form from an address of its own: over HTTP/1.1, and gRPC over HTTP/2. */
import { Agent, request } from 'node:http';
import { PLAIN } from '../test/support/calls/frames.ts';
import { exchange } from '../test/support/calls/http2.ts';
import { grpcHeaders, openSession, targetOf } from '../test/support/calls/sockets.ts';
import type { Scope } from '../test/support/scope.ts';
import type { TestStack } from '../test/support/service/stack.ts';

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** In a chunk or frame each, if there are several. */
  readonly body?: readonly Uint8Array[] | undefined;
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
  const [http, grpc] = [httpSender(t, stack, from), grpcSender(t, stack, from)];
  return (sent) => (sent.headers['content-type'] === 'application/grpc' ? grpc(sent) : http(sent));
}

function httpSender(t: Scope, { publicAddress }: TestStack, from: string): Sender {
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
function grpcSender(t: Scope, stack: TestStack, from: string): Sender {
  const open = () => openSession(targetOf(stack.publicAddress, from));
  let opening: ReturnType<typeof open> | undefined;
  t.teardown(async () => (await opening)?.destroy());
  return async ({ path, headers, body = [], giveUpMs = 60_000 }) => {
    opening ??= open();
    if ((await opening).closed) opening = open();
    const all = { ...PLAIN, ...grpcHeaders(path), ...headers };
    const got = await exchange(await opening, all, { body, giveUpMs });
    if (got.outcome === 'closed') opening = undefined;
    const { outcome, headers: fields, body: received } = got;
    return { status: outcome === 'answered' ? `grpc ${fields.get('grpc-status')}` : outcome, bytes: received.length };
  };
}
