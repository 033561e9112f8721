/** Envoy with nothing but its transcoder, configured like the service's, before a server that keeps what arrives. */
import { writeFileSync } from 'node:fs';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import { buffer } from 'node:stream/consumers';
import { fromBinary, type JsonObject, toJson } from '@bufbuild/protobuf';
import type { FileDescriptorSet } from '@bufbuild/protobuf/wkt';
import { ROUTER, transcoder } from '../../../envoy/config/filters.ts';
import { any, extension } from '../../../envoy/config/message.ts';
import { transcoderSet } from '../../../scripts/transcoder-set.ts';
import { readConfig } from '../../../src/platform/config/config.ts';
import { findEnvoy } from '../../../src/platform/launcher/envoy.ts';
import type { Operations } from '../../../src/platform/proto/operations.ts';
import { freePorts, listen, type Scope, temporaryFolder } from '../scope.ts';
import { until } from '../until.ts';
import { Program } from './process.ts';

/** What has arrived: the gRPC path and the message; or what the transcoder has said. */
export type Transcoded =
  | { readonly path: string; readonly message: JsonObject }
  | { readonly status: number; readonly text: string };

/** Starts it for the methods of one service. Resolves with a function that sends it a request. */
export async function startTranscoder(t: Scope, set: FileDescriptorSet, operations: Operations, service: string) {
  let arrived: Transcoded | undefined;
  const server = createServer().on('stream', async (stream: ServerHttp2Stream, { ':path': path = '' }) => {
    const body = await buffer(stream).catch(() => undefined);
    if (body === undefined) return; // the transcoder ends a call whose body turns out to be wrong
    const input = operations.byPath.get(path)?.input;
    if (input === undefined) throw new Error(`there is no method ${path}`);
    const message = fromBinary(input, body.subarray(5));
    arrived = { path, message: toJson(input, message, { useProtoFieldName: true }) as JsonObject };
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.alloc(5));
  });
  const serverPort = Number((await listen(t, server)).split(':')[1]);
  const folder = temporaryFolder(t);
  const [port = 0] = await freePorts(1);
  const descriptors = `${folder}/set.binpb`;
  writeFileSync(descriptors, transcoderSet(set, operations));
  const at = (port_value: number) => ({ socket_address: { address: '127.0.0.1', port_value } });
  const http2 = { explicit_http_config: { http2_protocol_options: {} } };
  const options = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
  const type = 'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';
  const routes = [{ match: { prefix: '/' }, route: { cluster: 'server' } }];
  const manager = extension('manager', type, {
    stat_prefix: 'http',
    route_config: { virtual_hosts: [{ name: 'all', domains: ['*'], routes }] },
    http_filters: [transcoder(descriptors, [service]), ROUTER],
  });
  const endpoints = [{ lb_endpoints: [{ endpoint: { address: at(serverPort) } }] }];
  const cluster = {
    name: 'server',
    load_assignment: { cluster_name: 'server', endpoints },
    typed_extension_protocol_options: { [options]: any(options, http2) },
  };
  const listener = { name: 'public', address: at(port), filter_chains: [{ filters: [manager] }] };
  const file = `${folder}/envoy.json`;
  writeFileSync(file, JSON.stringify({ static_resources: { listeners: [listener], clusters: [cluster] } }));
  const args = ['--config-path', file, '--disable-hot-restart', '--concurrency', '1', '--log-level', 'critical'];
  const envoy = new Program(findEnvoy(readConfig({})), args);
  t.teardown(() => envoy.end('SIGTERM'));
  const origin = `http://127.0.0.1:${port}`;
  await until(async () => envoy.hasEnded || (await fetch(origin).then(Boolean, () => false)), 'Envoy');
  if (envoy.hasEnded) throw new Error(envoy.errors);
  return async (method: string, path: string, body?: string): Promise<Transcoded> => {
    arrived = undefined;
    const sent = body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } };
    const response = await fetch(origin + path, { method, ...sent });
    const text = await response.text();
    return arrived ?? { status: response.status, text };
  };
}
