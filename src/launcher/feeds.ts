/**
 * Asks the servers to end the streams of events that come from this machine, since its Envoy stops: it would wait for
 * them, and then break them off. Their readers go on elsewhere, from where they are.
 *
 * Failure: the streams of a server that can't be asked are broken off.
 */
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { isIP } from 'node:net';
import { listServers } from '../../envoy/config/servers.ts';
import { formatAddress } from '../config/addresses.ts';
import type { Config } from '../config/config.ts';
import { EDGE_HEADERS } from '../edge/headers.ts';
import { type InternalPem, readInternalTls } from '../files/tls-files.ts';

const TIMEOUT_MS = 1_000;
/** A gRPC message without fields. */
const EMPTY = Buffer.alloc(5);

/** Resolves when every server has been asked, or can't be. @throws ConfigError for a bad file of INTERNAL_TLS. */
export async function endFeeds(config: Config): Promise<void> {
  const tls = config.internalTls && (await readInternalTls(config.internalTls));
  const ask = async (host: string, port: number) => {
    const addresses = await lookup(host, { all: true });
    await Promise.allSettled(addresses.map(({ address }) => check(config, address, port, { host, tls })));
  };
  await Promise.allSettled(listServers(config).map(({ host, port }) => ask(host, port)));
}

/** Checks the server's health, and says that this edge leaves. */
async function check(
  { edgeSecret = '' }: Config,
  address: string,
  port: number,
  { host, tls }: { readonly host: string; readonly tls: InternalPem | undefined },
): Promise<void> {
  const name = isIP(host) === 0 ? { servername: host } : {};
  const url = `${tls === undefined ? 'http' : 'https'}://${formatAddress(address, port)}`;
  const session = connect(url, { ...tls, ...name }).on('error', () => undefined);
  session.setTimeout(TIMEOUT_MS, () => session.destroy());
  try {
    const stream = session.request({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
      [EDGE_HEADERS.edge]: edgeSecret,
      [EDGE_HEADERS.leaving]: '1',
    });
    stream.end(EMPTY);
    await once(stream.resume(), 'close');
  } finally {
    session.destroy();
  }
}
