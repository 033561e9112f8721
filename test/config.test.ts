import { resolve } from 'node:path';
import test from 'ava';
import { grpcPorts, metricsPorts, readConfig } from '../src/config/config.ts';
import { configError } from './support/config-error.ts';

test('Config - without settings all values are defaults, and listeners are on loopback', (t) => {
  const config = readConfig({});
  t.like(config, {
    host: '127.0.0.1',
    port: 8080,
    grpcPort: 50051,
    instances: 1,
    trustedProxies: [],
    proxyProtocol: false,
    envoyAdminPort: 9901,
    dataDir: resolve('data'),
    databaseUrl: undefined,
    databaseConnections: 10,
    pgbouncer: false,
    migrateAtStart: true,
    redis: undefined,
    logLevel: 'info',
    envoy: undefined,
    metrics: undefined,
    demoAccount: true,
    operatorKey: undefined,
    idempotencyMs: 24 * 3_600_000,
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
    addressBurst: 120,
    addressPerSecond: 20,
    maxAddresses: 100_000,
    maxStreamMs: 300_000,
    maxFeeds: 10,
    maxFeedMs: 3_600_000,
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
    DEMO_ACCOUNT: 'no',
    OPERATOR_KEY: 'a-key-of-the-operator',
    EDGE_SECRET: 'a-secret-of-the-edge',
    USAGE_DAYS: '30',
    METRICS_PORT: '9464',
    METRICS_HOST: '::1',
    FREE_PER_MINUTE: '1',
    PRO_PER_DAY: '2',
    BUSINESS_PER_DAY: '2147483647',
    ADDRESS_PER_MINUTE: '3',
    ADDRESS_BURST: '8',
    ADDRESS_PER_SECOND: '9',
    STREAM_SECONDS: '10',
    EVENTS_DAYS: '7',
    EVENT_STREAMS: '3',
    EVENT_STREAM_SECONDS: '11',
    MAX_ADDRESSES: '4',
    BAN_REFUSALS: '5',
    BAN_WINDOW_SECONDS: '6',
    BAN_SECONDS: '7',
    IDEMPOTENCY_HOURS: '48',
  });
  t.like(config, {
    host: '::',
    port: 1,
    grpcPort: 65_535,
    envoyAdminPort: 9_902,
    dataDir: '/var/lib/petstore',
    logLevel: 'silent',
    envoy: '/usr/bin/envoy',
    demoAccount: false,
    operatorKey: 'a-key-of-the-operator',
    edgeSecret: 'a-secret-of-the-edge',
    usageDays: 30,
    eventsDays: 7,
    metrics: { host: '::1', port: 9_464 },
    idempotencyMs: 48 * 3_600_000,
  });
  t.deepEqual(config.limits, {
    plans: {
      free: { perMinute: 1, perDay: 1_000 },
      pro: { perMinute: 300, perDay: 2 },
      business: { perMinute: 1_000, perDay: 2_147_483_647 },
    },
    addressPerMinute: 3,
    addressBurst: 8,
    addressPerSecond: 9,
    maxAddresses: 4,
    maxStreamMs: 10_000,
    maxFeeds: 3,
    maxFeedMs: 11_000,
    ban: { refusals: 5, windowMs: 6_000, durationMs: 7_000 },
  });
});

test('Config - an empty setting counts as unset', (t) => {
  const texts = ['HOST', 'DATA_DIR', 'LOG_LEVEL', 'ENVOY', 'DEMO_ACCOUNT', 'OPERATOR_KEY'];
  const names = [...texts, 'PORT', 'GRPC_PORT', 'FREE_PER_MINUTE'];
  t.deepEqual(readConfig(Object.fromEntries(names.map((name) => [name, '']))), readConfig({}));
});

test('Config - a relative data folder is resolved against the working directory', (t) => {
  t.is(readConfig({ DATA_DIR: 'here' }).dataDir, resolve('here'));
});

test('Config - other variables are ignored', (t) => {
  t.deepEqual(readConfig({ PATH: '/usr/bin', port: '1', PETSTORE_PORT: '1' }), readConfig({}));
});

test('Config - idempotency keys are remembered for whole hours, a year at most', (t) => {
  for (const text of ['0', '8761', '1.5', '-1', 'day']) {
    t.is(configError({ IDEMPOTENCY_HOURS: text }), `IDEMPOTENCY_HOURS must be a number from 1 to 8760, not "${text}"`);
  }
});

test('Config - a port is a whole number from 1 to 65535', (t) => {
  for (const name of ['PORT', 'GRPC_PORT', 'ENVOY_ADMIN_PORT']) {
    for (const text of ['0', '65536', '-1', '80.5', '1e3', '0x50', 'abc', ' 80', '80 ', '８０']) {
      t.is(configError({ [name]: text }), `${name} must be a port from 1 to 65535, not "${text}"`);
    }
  }
});

test('Config - a host is an IP address', (t) => {
  for (const text of ['foo', 'localhost', '127.0.0.256', '127.0.0.1:80', '[::1]', '*', '1']) {
    t.is(configError({ HOST: text }), `HOST must be an IP address, such as 127.0.0.1 or 0.0.0.0, not "${text}"`);
  }
  for (const text of ['0.0.0.0', '::', '::1', '192.0.2.7', 'fd00::2']) t.is(readConfig({ HOST: text }).host, text);
});

test('Config - trusted proxies are addresses and networks separated by commas', (t) => {
  const { trustedProxies } = readConfig({ TRUSTED_PROXIES: '10.0.0.7, 10.1.0.0/16,fd00::/8,::1,::ffff:10.0.0.0/104' });
  t.deepEqual(trustedProxies, [
    { address: '10.0.0.7', bits: 32 },
    { address: '10.1.0.0', bits: 16 },
    { address: 'fd00::', bits: 8 },
    { address: '::1', bits: 128 },
    { address: '::ffff:a00:0', bits: 104 },
  ]);
  t.deepEqual(readConfig({ TRUSTED_PROXIES: '' }).trustedProxies, []);
  const rule = 'must list IP addresses or networks after commas, such as 10.0.0.7,10.1.0.0/16,fd00::/8, not';
  for (const text of [
    ...['nginx', '10.0.0', '10.1', '0xa.0.0.1', '10.0.0.7:80', '[::1]', 'fe80::1%eth0', '10.0.0.7,', ',', ' '],
    ...['10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.0/-1', '10.0.0.0/255.0.0.0', 'fd00::/129'],
    ...['10.1.0.7/16', 'fd00::1/8'], // bits are set beyond the prefix
    ...['0.0.0.0/0', '::/0'], // every address would be trusted
  ]) {
    t.is(configError({ TRUSTED_PROXIES: text }), `TRUSTED_PROXIES ${rule} "${text}"`);
  }
});

test('Config - PROXY protocol requires trusted proxies', (t) => {
  const TRUSTED_PROXIES = '10.0.0.7';
  t.true(readConfig({ PROXY_PROTOCOL: 'yes', TRUSTED_PROXIES }).proxyProtocol);
  for (const text of ['no', '']) t.false(readConfig({ PROXY_PROTOCOL: text }).proxyProtocol);
  t.is(configError({ PROXY_PROTOCOL: 'v2' }), 'PROXY_PROTOCOL must be yes or no, not "v2"');
  t.is(
    configError({ PROXY_PROTOCOL: 'yes' }),
    'PROXY_PROTOCOL=yes needs TRUSTED_PROXIES: the addresses that may connect',
  );
});

test('Config - a log level is one of the known levels', (t) => {
  for (const text of ['loud', 'INFO', '30']) {
    const line = `LOG_LEVEL must be one of trace, debug, info, warn, error, fatal, silent, not "${text}"`;
    t.is(configError({ LOG_LEVEL: text }), line);
  }
});

test('Config - a count is a whole number of at least 1', (t) => {
  for (const name of ['FREE_PER_MINUTE', 'BUSINESS_PER_DAY', 'ADDRESS_PER_MINUTE', 'BAN_SECONDS']) {
    for (const text of ['0', '-1', '1.5', 'many', '2147483648']) {
      t.is(configError({ [name]: text }), `${name} must be a number from 1 to 2147483647, not "${text}"`);
    }
  }
});

test('Config - no two ports are the same, defaults included', (t) => {
  t.is(configError({ PORT: '9000', GRPC_PORT: '9000' }), "GRPC_PORT must not be PORT's port 9000");
  t.is(configError({ PORT: '9901' }), "ENVOY_ADMIN_PORT must not be PORT's port 9901");
  t.is(configError({ ENVOY_ADMIN_PORT: '50051' }), "ENVOY_ADMIN_PORT must not be GRPC_PORT's port 50051");
});

test('Config - connections to PostgreSQL, PgBouncer and migrations at start can be set', (t) => {
  const set = { DATABASE_CONNECTIONS: '2', PGBOUNCER: 'yes', MIGRATE_AT_START: 'no' };
  t.like(readConfig(set), { databaseConnections: 2, pgbouncer: true, migrateAtStart: false });
  for (const text of ['0', '1', '1001', '2.5', 'many']) {
    const line = `DATABASE_CONNECTIONS must be a number from 2 to 1000, not "${text}"`;
    t.is(configError({ DATABASE_CONNECTIONS: text }), line);
  }
  for (const name of ['PGBOUNCER', 'MIGRATE_AT_START']) {
    t.is(configError({ [name]: 'auto' }), `${name} must be yes or no, not "auto"`);
  }
});

test('Config - the demo account is created on SQLite, and on PostgreSQL only with DEMO_ACCOUNT=yes', (t) => {
  const { DATABASE_URL } = SHARED;
  t.true(readConfig({}).demoAccount);
  t.true(readConfig({ DATABASE_URL: '' }).demoAccount);
  t.false(readConfig({ DATABASE_URL }).demoAccount);
  t.true(readConfig({ DATABASE_URL, DEMO_ACCOUNT: 'yes' }).demoAccount);
  t.false(readConfig({ DATABASE_URL, DEMO_ACCOUNT: '' }).demoAccount);
  for (const text of ['1', 'true', 'YES', 'on', ' yes']) {
    t.is(configError({ DEMO_ACCOUNT: text }), `DEMO_ACCOUNT must be yes or no, not "${text}"`);
  }
});

test('Config - an operator key is long and valid in a header, and the error does not repeat a bad one', (t) => {
  for (const text of ['short', 'with a space in the middle', 'ümlauts-can-not-be-sent', 'x'.repeat(15)]) {
    const line = configError({ OPERATOR_KEY: text });
    t.regex(line, /^OPERATOR_KEY must be at least 16 /);
    t.false(line.includes(text));
  }
});

const SHARED = { DATABASE_URL: 'postgres://db/petstore', REDIS_URL: 'redis://cache' };

test('Config - several instances have consecutive ports, none of them taken by another setting', (t) => {
  t.deepEqual(grpcPorts(readConfig({ INSTANCES: '3', ...SHARED })), [50051, 50052, 50053]);
  t.is(
    configError({ INSTANCES: '3', GRPC_PORT: '65534', ...SHARED }),
    'GRPC_PORT must leave room for 3 ports up to 65535',
  );
  const clash = "ENVOY_ADMIN_PORT must not be GRPC_PORT+1's port 9901";
  t.is(configError({ INSTANCES: '2', GRPC_PORT: '9900', ...SHARED }), clash);
  t.deepEqual(metricsPorts(readConfig({ INSTANCES: '2', METRICS_PORT: '9464', ...SHARED })), [9464, 9465]);
  t.is(
    configError({ INSTANCES: '2', METRICS_PORT: '65535', ...SHARED }),
    'METRICS_PORT must leave room for 2 ports up to 65535',
  );
  t.is(
    configError({ INSTANCES: '2', METRICS_PORT: '50050', ...SHARED }),
    "METRICS_PORT+1 must not be GRPC_PORT's port 50051",
  );
  for (const text of ['0', '-1', '1.5', '65', 'many']) {
    t.regex(configError({ INSTANCES: text, ...SHARED }), /^INSTANCES must be a number from 1 to 64, not /);
  }
});

test('Config - several instances need a shared database and shared counters; the error names what is missing', (t) => {
  t.notThrows(() => readConfig({ INSTANCES: '2', ...SHARED }));
  const { DATABASE_URL, REDIS_URL } = SHARED;
  t.is(
    configError({ INSTANCES: '2', DATABASE_URL }),
    'INSTANCES=2 needs REDIS_URL (limits in memory are for one process)',
  );
  t.is(configError({ INSTANCES: '2', REDIS_URL }), 'INSTANCES=2 needs DATABASE_URL (SQLite is for one process)');
  t.regex(configError({ INSTANCES: '2' }), /needs DATABASE_URL .* and REDIS_URL /);
});
