/** Requests from other loopback addresses (127.0.0.0/8) over HTTP/1.1, HTTP/2 or gRPC, with or without TLS. */
import { once } from 'node:events';
import { request as requestHttp } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { status as Status } from '@grpc/grpc-js';
import type { SeenResponse } from '../contract/description.ts';
import { exchange } from './http2.ts';

/** A port to call at: the service's own, or that of a proxy before it. */
export interface Door {
  readonly port: number;
  /** The authority of its certificate; undefined without TLS. */
  readonly ca?: Buffer | undefined;
  /** Sent at the start of each connection. */
  readonly preface?: string | Uint8Array;
}

export const PROTOCOLS = ['HTTP/1.1', 'HTTP/2', 'gRPC'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

export interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  readonly isUnfinished?: boolean;
}

/** Headers are with trailers. The status of a gRPC call is that of REST. */
export type Received = SeenResponse;

export function openFrom(from: string, { port, ca, preface }: Door, protocol: Protocol = 'HTTP/1.1'): Socket {
  const socket = connect({ host: '127.0.0.1', port, localAddress: from });
  if (preface !== undefined) socket.write(preface);
  if (ca === undefined) return socket;
  const ALPNProtocols = [protocol === 'HTTP/1.1' ? 'http/1.1' : 'h2'];
  return connectTls({ socket, ca, servername: 'localhost', ALPNProtocols });
}

/** Sends one request on a new connection: `GET /pets` by default; over gRPC always `ListPets`. */
export function callFrom(from: string, door: Door, protocol: Protocol, sent: Sent = {}): Promise<Received> {
  const socket = openFrom(from, door, protocol);
  const call = { 'HTTP/1.1': overHttp1, 'HTTP/2': overHttp2, gRPC: overGrpc }[protocol];
  return call(socket, sent).finally(() => socket.destroy());
}

function overHttp1(socket: Socket, sent: Sent): Promise<Received> {
  const { method = 'GET', path = '/pets', headers = {}, body, isUnfinished } = sent;
  return new Promise((resolve, reject) => {
    const request = requestHttp({ createConnection: () => socket, method, path, headers }, async (response) => {
      response.setEncoding('utf8');
      const text = (await response.toArray()).join('');
      const fields = Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]);
      resolve({ status: response.statusCode ?? 0, headers: new Headers(fields), text });
    });
    request.on('error', reject);
    if (isUnfinished) request.write(body ?? '');
    else request.end(body);
  });
}

async function overHttp2(socket: Socket, sent: Sent): Promise<Received> {
  const { method = 'GET', path = '/pets', headers: fields = {}, body, isUnfinished = false } = sent;
  const session = connectHttp2('http://localhost', { createConnection: () => socket });
  const failed = once(session, 'close').then(() => undefined); // rejects with the connection's error
  const all = { ':method': method, ':path': path, ...fields };
  const sending = { body: body === undefined ? undefined : Buffer.from(body), isEnded: !isUnfinished };
  const answer = await Promise.race([exchange(session, all, sending), failed]);
  failed.catch(() => undefined);
  session.close();
  if (answer?.status === undefined) throw new Error('there is no response');
  return { status: answer.status, headers: answer.headers, text: answer.body.toString() };
}

const EMPTY_MESSAGE = new Uint8Array(5);
const HTTP_STATUS_OF: Readonly<Record<number, number>> = {
  [Status.OK]: 200,
  [Status.UNAUTHENTICATED]: 401,
  [Status.RESOURCE_EXHAUSTED]: 429,
  [Status.UNAVAILABLE]: 503,
};

async function overGrpc(socket: Socket, sent: Sent): Promise<Received> {
  const received = await overHttp2(socket, {
    ...sent,
    method: 'POST',
    path: '/petstore.v1.PetService/ListPets',
    headers: { 'content-type': 'application/grpc', te: 'trailers', ...sent.headers },
    body: sent.body ?? EMPTY_MESSAGE,
  });
  const status = received.headers.get('grpc-status');
  return { ...received, status: status === null ? received.status : (HTTP_STATUS_OF[Number(status)] ?? -1) };
}
