/** A bound of the time that a new connection may take until the server speaks. */
import type { Socket } from 'node:net';
import type { ChannelCredentials } from '@grpc/grpc-js';

/** How long TLS and then the first HTTP/2 frame may take. */
const HANDSHAKE_MS = 10_000;

/**
 * Makes the channels of these credentials close a new connection on which the server says nothing, so that they open
 * another. grpc-js would wait for its first frame without end, and keepalive begins only after that: one connection to
 * a frozen machine behind a load balancer would hold up all later calls. (It has no option for it, and this is no
 * public method of it.)
 */
export function boundHandshake(credentials: ChannelCredentials): ChannelCredentials {
  const create = credentials._createSecureConnector.bind(credentials);
  credentials._createSecureConnector = (...args) => {
    const connector = create(...args);
    const connect = connector.connect.bind(connector);
    connector.connect = (tcp) => {
      let socket: Socket | undefined;
      const endMute = () => {
        if (!socket?.bytesRead) tcp.destroy();
      };
      const timer = setTimeout(endMute, HANDSHAKE_MS).unref();
      const closed = new Promise<never>((_, reject) => {
        tcp.once('close', () => {
          clearTimeout(timer);
          reject(new Error('the connection was closed')); // during TLS grpc-js would not notice
        });
      });
      const secured = connect(tcp).then((result) => {
        ({ socket } = result);
        return result;
      });
      return Promise.race([secured, closed]);
    };
    return connector;
  };
  return credentials;
}
