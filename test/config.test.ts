import { resolve } from 'node:path';
import test from 'ava';
import { ConfigError, readConfig } from '../src/config.ts';

/** The complaint about some settings. */
function complaint(env: Readonly<Record<string, string>>): string {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return '';
}

test('Config - without settings everything has its default, on loopback', (t) => {
  const config = readConfig({});
  t.like(config, {
    host: '127.0.0.1',
    port: 8080,
    grpcPort: 50051,
    envoyAdminPort: 9901,
    dataDir: resolve('data'),
    logLevel: 'info',
    envoy: undefined,
    operatorKey: undefined,
  });
});

test("Config - the limits' defaults are the contract's", (t) => {
  t.deepEqual(readConfig({}).limits, {
    plans: {
      free: { perMinute: 60, perDay: 1_000 },
      pro: { perMinute: 300, perDay: 10_000 },
      business: { perMinute: 1_000, perDay: 100_000 },
    },
    addressPerMinute: 60,
    maxAddresses: 100_000,
    ban: { refusals: 20, windowMs: 60_000, durationMs: 300_000 },
  });
});

test('Config - each setting is read', (t) => {
  const config = readConfig({
    HOST: '::',
    PORT: '1',
    GRPC_PORT: '65535',
    ENVOY_ADMIN_PORT: '9902',
    DATA_DIR: '/var/lib/petstore',
    LOG_LEVEL: 'silent',
    ENVOY: '/usr/bin/envoy',
    OPERATOR_KEY: 'a-key-of-the-operator',
    FREE_PER_MINUTE: '1',
    PRO_PER_DAY: '2',
    BUSINESS_PER_DAY: '2147483647',
    ADDRESS_PER_MINUTE: '3',
    MAX_ADDRESSES: '4',
    BAN_REFUSALS: '5',
    BAN_WINDOW_SECONDS: '6',
    BAN_SECONDS: '7',
  });
  t.like(config, {
    host: '::',
    port: 1,
    grpcPort: 65_535,
    envoyAdminPort: 9_902,
    dataDir: '/var/lib/petstore',
    logLevel: 'silent',
    envoy: '/usr/bin/envoy',
    operatorKey: 'a-key-of-the-operator',
  });
  t.deepEqual(config.limits, {
    plans: {
      free: { perMinute: 1, perDay: 1_000 },
      pro: { perMinute: 300, perDay: 2 },
      business: { perMinute: 1_000, perDay: 2_147_483_647 },
    },
    addressPerMinute: 3,
    maxAddresses: 4,
    ban: { refusals: 5, windowMs: 6_000, durationMs: 7_000 },
  });
});

test('Config - an empty setting is as good as none', (t) => {
  const names = ['HOST', 'PORT', 'GRPC_PORT', 'DATA_DIR', 'LOG_LEVEL', 'ENVOY', 'OPERATOR_KEY', 'FREE_PER_MINUTE'];
  t.deepEqual(readConfig(Object.fromEntries(names.map((name) => [name, '']))), readConfig({}));
});

test('Config - a relative data folder is one of the folder that it was started in', (t) => {
  t.is(readConfig({ DATA_DIR: 'here' }).dataDir, resolve('here'));
});

test('Config - other variables are none of its business', (t) => {
  t.deepEqual(readConfig({ PATH: '/usr/bin', port: '1', PETSTORE_PORT: '1' }), readConfig({}));
});

test('Config - a port is a whole number from 1 to 65535', (t) => {
  for (const name of ['PORT', 'GRPC_PORT', 'ENVOY_ADMIN_PORT']) {
    for (const text of ['0', '65536', '-1', '80.5', '1e3', '0x50', 'abc', ' 80', '80 ', '８０']) {
      t.is(complaint({ [name]: text }), `${name} must be a port from 1 to 65535, not "${text}"`);
    }
  }
});

test('Config - a host is an IP address', (t) => {
  for (const text of ['foo', 'localhost', '127.0.0.256', '127.0.0.1:80', '[::1]', '*', '1']) {
    t.is(complaint({ HOST: text }), `HOST must be an IP address, such as 127.0.0.1 or 0.0.0.0, not "${text}"`);
  }
  for (const text of ['0.0.0.0', '::', '::1', '192.0.2.7', 'fd00::2']) t.is(readConfig({ HOST: text }).host, text);
});

test('Config - a log level is one of the names', (t) => {
  for (const text of ['loud', 'INFO', '30']) {
    const line = `LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent, not "${text}"`;
    t.is(complaint({ LOG_LEVEL: text }), line);
  }
});

test('Config - a count is a whole number from 1', (t) => {
  for (const name of ['FREE_PER_MINUTE', 'BUSINESS_PER_DAY', 'ADDRESS_PER_MINUTE', 'BAN_SECONDS']) {
    for (const text of ['0', '-1', '1.5', 'many', '2147483648']) {
      t.is(complaint({ [name]: text }), `${name} must be a number from 1 to 2147483647, not "${text}"`);
    }
  }
});

test('Config - no two ports are the same, defaults included', (t) => {
  t.is(complaint({ PORT: '9000', GRPC_PORT: '9000' }), "GRPC_PORT must not be PORT's port 9000");
  t.is(complaint({ PORT: '9901' }), "ENVOY_ADMIN_PORT must not be PORT's port 9901");
  t.is(complaint({ ENVOY_ADMIN_PORT: '50051' }), "ENVOY_ADMIN_PORT must not be GRPC_PORT's port 50051");
});

test('Config - an operator key is long and can be sent, and a bad one is not repeated', (t) => {
  for (const text of ['short', 'with a space in the middle', 'ümlauts-can-not-be-sent', 'x'.repeat(15)]) {
    const line = complaint({ OPERATOR_KEY: text });
    t.regex(line, /^OPERATOR_KEY must be at least 16 /);
    t.false(line.includes(text));
  }
});
