import test from 'ava';
import { ConfigError, readConfig } from '../../src/config/config.ts';

const TLS = { INTERNAL_TLS_CA: '/tls/ca.pem', INTERNAL_TLS_CERT: '/tls/cert.pem', INTERNAL_TLS_KEY: '/tls/key.pem' };
const serversOf = (SERVERS: string) => readConfig({ ...TLS, SERVERS }).servers;

test('SERVERS - is a comma-separated list of names and addresses, each with a port', (t) => {
  t.is(readConfig({}).servers, undefined);
  t.deepEqual(serversOf('petstore-0:50051, petstore-1.shop.svc.cluster.local.:1'), [
    { host: 'petstore-0', port: 50051 },
    { host: 'petstore-1.shop.svc.cluster.local.', port: 1 },
  ]);
  t.deepEqual(serversOf('10.0.0.11:50051,[fd00::1]:50051'), [
    { host: '10.0.0.11', port: 50051 },
    { host: 'fd00::1', port: 50051 },
  ]);
});

test('SERVERS - any other value is refused, with the expected form', (t) => {
  for (const bad of [
    ...['petstore', 'petstore:', ':1', 'petstore:0', 'petstore:65536', 'a:1,', 'a:1 b:2', 'http://a:1', 'a/b:1'],
    ...['fd00::1:50051', '[10.0.0.1]:1', '10.0.0.256:1', '10.0.0:1', '-a:1', `${'a'.repeat(64)}:1`, '"a":1', 'a\n:1'],
  ]) {
    const error = t.throws(() => serversOf(bad), { instanceOf: ConfigError }, bad);
    t.regex(error?.message ?? '', /^SERVERS must be host:port, .* such as petstore-0:50051, not "/, bad);
  }
});

test('INTERNAL_TLS - is required for an address beyond loopback, in GRPC_HOST and in SERVERS', (t) => {
  for (const far of ['0.0.0.0', '::', '10.0.0.1', 'fd00::1', '::ffff:10.0.0.1', '128.0.0.1']) {
    t.throws(() => readConfig({ GRPC_HOST: far }), {
      message: /^GRPC_HOST names .* not loopback: set INTERNAL_TLS_CA/,
    });
    t.is(readConfig({ GRPC_HOST: far, ...TLS }).grpcHost, far);
  }
  for (const far of ['petstore-0:1', '127.0.0.1:1,10.0.0.1:1', '[fd00::1]:1', 'localhost.example:1']) {
    t.throws(
      () => readConfig({ SERVERS: far }),
      { message: /^SERVERS names .* not loopback: set INTERNAL_TLS_CA/ },
      far,
    );
  }
  for (const near of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) {
    t.is(readConfig({ GRPC_HOST: near }).grpcHost, near);
  }
  t.is(readConfig({ SERVERS: 'localhost:1,127.0.0.2:1,[::1]:1' }).servers?.length, 3);
});

test('INTERNAL_TLS - an incomplete set is refused, with the missing settings', (t) => {
  const { INTERNAL_TLS_KEY: _, ...withoutKey } = TLS;
  t.throws(() => readConfig(withoutKey), { message: /^INTERNAL_TLS_KEY must be set too: / });
  t.throws(() => readConfig({ INTERNAL_TLS_CA: 'ca.pem' }), {
    message: /^INTERNAL_TLS_CERT and INTERNAL_TLS_KEY must/,
  });
  t.is(readConfig({}).internalTls, undefined);
});

test('LOGS - is files or stdout', (t) => {
  t.is(readConfig({}).logs, 'files');
  t.is(readConfig({ LOGS: 'stdout' }).logs, 'stdout');
  t.throws(() => readConfig({ LOGS: 'syslog' }), { message: 'LOGS must be one of files, stdout, not "syslog"' });
});
