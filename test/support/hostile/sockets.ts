/** Connections of an attacker: each from one of his own addresses, so that the service can tell him from others. */
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2, type OutgoingHttpHeaders, type Settings } from 'node:http2';
import { connect, type Socket } from 'node:net';

/** The public port, as one attacker reaches it. */
export interface Target {
  readonly host: string;
  readonly port: number;
  /** The attacker's addresses, of 127.0.0.0/8. Connections take them in turn. */
  readonly from: readonly [string, ...string[]];
}

export function targetOf(publicAddress: string, ...from: Target['from']): Target {
  const { hostname, port } = new URL(`http://${publicAddress}`);
  return { host: hostname, port: Number(port), from };
}

/** With less Node drops answers to requests with large bodies, of which not all has been sent. */
const SESSION_MB = 1_000;

/** A TCP connection; `index` says which of the attacker's addresses it comes from. Errors end it and nothing else. */
export function openSocket({ host, port, from }: Target, index = 0): Socket {
  const localAddress = from[index % from.length] ?? from[0];
  const socket = connect({ host, port, localAddress });
  socket.on('error', () => undefined); // "close" follows
  return socket;
}

/** An HTTP/2 connection. Resolves when the service has said what it allows; rejects when it is refused. */
export async function openSession(target: Target, index = 0, settings: Settings = {}): Promise<ClientHttp2Session> {
  const session = connectHttp2(`http://${target.host}:${target.port}`, {
    createConnection: () => openSocket(target, index),
    settings,
    maxSessionMemory: SESSION_MB,
  });
  session.on('error', () => undefined); // its streams are told
  const closed = once(session, 'close').then(() => {
    throw new Error('the connection was refused');
  });
  await Promise.race([once(session, 'remoteSettings'), closed]);
  closed.catch(() => undefined);
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

/** A gRPC message on the wire. */
export function grpcFrame(message: Uint8Array = new Uint8Array(), isCompressed = false): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(isCompressed ? 1 : 0);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
