/** An Envoy with the filter for REST and the transcoder, for the requests of parcels.proto, before a bare server. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromBinary, type Message, toJson } from '@bufbuild/protobuf';
import { bodiesWithLists } from '../../../envoy/config/lists.ts';
import { luaFilter, toLua } from '../../../envoy/config/lua.ts';
import { any, extension } from '../../../envoy/config/message.ts';
import { readConfig } from '../../../src/config/config.ts';
import { ROOT } from '../../../src/launcher/paths.ts';
import { freePorts } from '../ports.ts';
import { until } from '../until.ts';
import { parcelDescriptors, parcelMessage, parcelOperations } from './parcels.ts';

const HTTP = 'envoy.extensions.filters.http';

interface Sent {
  readonly status: number;
  /** Envoy's text, of a refusal. */
  readonly text: string;
  /** The parcel that the server got, as JSON. */
  readonly parcel: unknown;
}

export interface ListEdge {
  send(method: 'POST' | 'PATCH', body: string, path?: string): Promise<Sent>;
  close(): Promise<void>;
}

export async function startListEdge(): Promise<ListEdge> {
  const folder = await mkdtemp(join(tmpdir(), 'petstore-lists-'));
  let received: Buffer | undefined;
  const server = createServer().on('stream', async (stream: ServerHttp2Stream) => {
    const pieces = await Array.fromAsync(stream as AsyncIterable<Buffer>).catch(() => undefined);
    if (pieces === undefined) return; // the transcoder has refused the body
    received = Buffer.concat(pieces);
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.alloc(5)); // an empty message
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const [port = 0] = await freePorts(1);
  await writeFile(join(folder, 'parcels.binpb'), parcelDescriptors);
  await writeFile(join(folder, 'envoy.json'), JSON.stringify(bootstrap(port, server, folder)));
  const arguments_ = ['-c', join(folder, 'envoy.json'), '--use-dynamic-base-id', '--concurrency', '1'];
  const envoy = spawn(join(ROOT, '.envoy/envoy/_bin/envoy'), [...arguments_, '--log-level', 'off'], {
    stdio: 'ignore',
  });
  const url = `http://127.0.0.1:${port}`;
  await until(async () => (await fetch(url).catch(() => undefined)) !== undefined, 'Envoy');
  return {
    async send(method, body, path = method === 'POST' ? '/parcels' : '/parcels/7') {
      received = undefined;
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(url + path, { method, headers, body });
      return { status: response.status, text: await response.text(), parcel: received && decode(method, received) };
    },
    async close() {
      await stop(envoy);
      server.close();
      await rm(folder, { recursive: true });
    },
  };
}

function decode(method: 'POST' | 'PATCH', frame: Buffer): unknown {
  const type = parcelMessage(method === 'POST' ? 'CreateParcelRequest' : 'UpdateParcelRequest');
  const { parcel } = toJson(type, fromBinary(type, frame.subarray(5)) as Message) as { parcel?: unknown };
  return parcel;
}

async function stop(envoy: ChildProcess): Promise<void> {
  envoy.kill('SIGKILL');
  if (envoy.exitCode === null && envoy.signalCode === null) await once(envoy, 'exit');
}

function bootstrap(port: number, server: Http2Server, folder: string) {
  const bodies = `require("settings").bodies = ${toLua(bodiesWithLists(parcelOperations))}`;
  const code = `${bodies}\nenvoy_on_request = require("rest").on_request`;
  const filters = [
    luaFilter(readConfig({}), ROOT, code),
    extension('transcoder', `${HTTP}.grpc_json_transcoder.v3.GrpcJsonTranscoder`, {
      proto_descriptor: join(folder, 'parcels.binpb'),
      services: ['petstore.test.v1.ParcelService'],
    }),
    extension('router', `${HTTP}.router.v3.Router`),
  ];
  const options = any('envoy.extensions.upstreams.http.v3.HttpProtocolOptions', {
    explicit_http_config: { http2_protocol_options: {} },
  });
  const routes = [{ match: { prefix: '/' }, route: { cluster: 'server' } }];
  const manager = any('envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager', {
    stat_prefix: 'lists',
    route_config: { virtual_hosts: [{ name: 'all', domains: ['*'], routes }] },
    http_filters: filters,
  });
  const at = (number: number) => ({ socket_address: { address: '127.0.0.1', port_value: number } });
  const endpoint = { endpoint: { address: at((server.address() as AddressInfo).port) } };
  return {
    static_resources: {
      listeners: [{ address: at(port), filter_chains: [{ filters: [{ name: 'http', typed_config: manager }] }] }],
      clusters: [
        {
          name: 'server',
          typed_extension_protocol_options: { 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': options },
          load_assignment: { cluster_name: 'server', endpoints: [{ lb_endpoints: [endpoint] }] },
        },
      ],
    },
  };
}
