/** Connections of an attacker, from addresses of its own. */
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2, type OutgoingHttpHeaders, type Settings } from 'node:http2';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Scope } from '../scope.ts';

/** The public port, and the addresses that connect to it. */
export interface Target {
  readonly host: string;
  readonly port: number;
  /** The attacker's addresses in 127.0.0.0/8, which connections take in turn. */
  readonly from: readonly [string, ...string[]];
}

export function targetOf(publicAddress: string, ...from: Target['from']): Target {
  const { hostname, port } = new URL(`http://${publicAddress}`);
  return { host: hostname, port: Number(port), from };
}

/** Where to connect; of an address alone from 127.0.0.1. */
export type To = Target | string;

const targetAt = (to: To) => (typeof to === 'string' ? targetOf(to, '127.0.0.1') : to);

/** With less, Node drops responses to large requests that are not sent completely. */
const SESSION_MB = 1_000;

/** Opens a TCP connection from the address with this index. Errors only close it. */
export function openSocket(to: To, index = 0): Socket {
  const { host, port, from } = targetAt(to);
  const localAddress = from[index % from.length] ?? from[0];
  const socket = connect({ host, port, localAddress });
  socket.on('error', () => undefined); // "close" follows
  return socket;
}

/** Opens an HTTP/2 connection on this stream. Resolves after the service's SETTINGS; rejects when it is refused. */
export async function openSession(
  to: To,
  index = 0,
  settings: Settings = {},
  bytes: Duplex = openSocket(to, index),
): Promise<ClientHttp2Session> {
  const { host, port } = targetAt(to);
  const session = connectHttp2(`http://${host}:${port}`, {
    createConnection: () => bytes,
    settings,
    maxSessionMemory: SESSION_MB,
  });
  session.on('error', () => undefined); // its streams report it
  const closed = once(session, 'close').then(() => {
    throw new Error('the connection was refused');
  });
  await Promise.race([once(session, 'remoteSettings'), closed]);
  closed.catch(() => undefined);
  return session;
}

/** The same, until the end of the test. */
export async function sessionOf(t: Scope, to: To, index?: number, settings?: Settings): Promise<ClientHttp2Session> {
  const session = await openSession(to, index, settings);
  t.teardown(() => session.destroy());
  return session;
}

/** The headers of a gRPC call of a method such as `/petstore.v1.PetService/ListPets`. */
export function grpcHeaders(path: string, key?: string): OutgoingHttpHeaders {
  return {
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  };
}

export function grpcFrame(message: Uint8Array = new Uint8Array(), isCompressed = false): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(isCompressed ? 1 : 0);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
