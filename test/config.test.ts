import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test from 'ava';
import { ConfigError, grpcPorts, metricsPorts, readConfig } from '../src/config.ts';

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
    instances: 1,
    trustedProxies: [],
    proxyProtocol: false,
    envoyAdminPort: 9901,
    dataDir: resolve('data'),
    databaseUrl: undefined,
    databaseConnections: 10,
    preparedStatements: undefined,
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
    DEMO_ACCOUNT: 'no',
    OPERATOR_KEY: 'a-key-of-the-operator',
    USAGE_DAYS: '30',
    METRICS_PORT: '9464',
    METRICS_HOST: '::1',
    FREE_PER_MINUTE: '1',
    PRO_PER_DAY: '2',
    BUSINESS_PER_DAY: '2147483647',
    ADDRESS_PER_MINUTE: '3',
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
    usageDays: 30,
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
    maxAddresses: 4,
    ban: { refusals: 5, windowMs: 6_000, durationMs: 7_000 },
  });
});

test('Config - an empty setting is as good as none', (t) => {
  const texts = ['HOST', 'DATA_DIR', 'LOG_LEVEL', 'ENVOY', 'DEMO_ACCOUNT', 'OPERATOR_KEY'];
  const names = [...texts, 'PORT', 'GRPC_PORT', 'FREE_PER_MINUTE'];
  t.deepEqual(readConfig(Object.fromEntries(names.map((name) => [name, '']))), readConfig({}));
});

test('Config - a relative data folder is one of the folder that it was started in', (t) => {
  t.is(readConfig({ DATA_DIR: 'here' }).dataDir, resolve('here'));
});

test('Config - other variables are none of its business', (t) => {
  t.deepEqual(readConfig({ PATH: '/usr/bin', port: '1', PETSTORE_PORT: '1' }), readConfig({}));
});

test('Config - idempotency keys are remembered for whole hours, a year at most', (t) => {
  for (const text of ['0', '8761', '1.5', '-1', 'day']) {
    t.is(complaint({ IDEMPOTENCY_HOURS: text }), `IDEMPOTENCY_HOURS must be a number from 1 to 8760, not "${text}"`);
  }
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

test('Config - trusted proxies are addresses and networks after commas', (t) => {
  const { trustedProxies } = readConfig({ TRUSTED_PROXIES: '10.0.0.7, 10.1.0.0/16,fd00::/8,::1,::ffff:10.0.0.0/104' });
  t.deepEqual(trustedProxies, [
    { address: '10.0.0.7', bits: 32 },
    { address: '10.1.0.0', bits: 16 },
    { address: 'fd00::', bits: 8 },
    { address: '::1', bits: 128 },
    { address: '::ffff:a00:0', bits: 104 },
  ]);
  t.deepEqual(readConfig({ TRUSTED_PROXIES: '' }).trustedProxies, []);
  const isWrong = 'must list IP addresses or networks after commas, such as 10.0.0.7,10.1.0.0/16,fd00::/8, not';
  for (const text of [
    ...['nginx', '10.0.0', '10.1', '0xa.0.0.1', '10.0.0.7:80', '[::1]', 'fe80::1%eth0', '10.0.0.7,', ',', ' '],
    ...['10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.0/-1', '10.0.0.0/255.0.0.0', 'fd00::/129'],
    ...['10.1.0.7/16', 'fd00::1/8'], // which one is meant?
    ...['0.0.0.0/0', '::/0'], // anybody could be anybody
  ]) {
    t.is(complaint({ TRUSTED_PROXIES: text }), `TRUSTED_PROXIES ${isWrong} "${text}"`);
  }
});

test('Config - PROXY protocol is for trusted proxies', (t) => {
  const TRUSTED_PROXIES = '10.0.0.7';
  for (const text of ['yes', '1']) t.true(readConfig({ PROXY_PROTOCOL: text, TRUSTED_PROXIES }).proxyProtocol);
  for (const text of ['no', '']) t.false(readConfig({ PROXY_PROTOCOL: text }).proxyProtocol);
  t.is(complaint({ PROXY_PROTOCOL: 'v2' }), 'PROXY_PROTOCOL must be yes or no, not "v2"');
  t.is(complaint({ PROXY_PROTOCOL: '1' }), 'PROXY_PROTOCOL=yes needs TRUSTED_PROXIES: the addresses that may connect');
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

test('Config - connections to PostgreSQL, prepared statements and migrations at start can be set', (t) => {
  const set = { DATABASE_CONNECTIONS: '2', PREPARED_STATEMENTS: 'no', MIGRATE_AT_START: 'no' };
  t.like(readConfig(set), { databaseConnections: 2, preparedStatements: false, migrateAtStart: false });
  t.true(readConfig({ PREPARED_STATEMENTS: 'yes' }).preparedStatements);
  for (const text of ['0', '1', '1001', '2.5', 'many']) {
    const line = `DATABASE_CONNECTIONS must be a number from 2 to 1000, not "${text}"`;
    t.is(complaint({ DATABASE_CONNECTIONS: text }), line);
  }
  for (const name of ['PREPARED_STATEMENTS', 'MIGRATE_AT_START']) {
    t.is(complaint({ [name]: 'auto' }), `${name} must be yes or no, not "auto"`);
  }
});

test('Config - the demo account is made on the embedded database, and on PostgreSQL when it is asked for', (t) => {
  const { DATABASE_URL } = SHARED;
  t.true(readConfig({}).demoAccount);
  t.true(readConfig({ DATABASE_URL: '' }).demoAccount);
  t.false(readConfig({ DATABASE_URL }).demoAccount);
  t.true(readConfig({ DATABASE_URL, DEMO_ACCOUNT: 'yes' }).demoAccount);
  t.false(readConfig({ DATABASE_URL, DEMO_ACCOUNT: '' }).demoAccount);
  for (const text of ['1', 'true', 'YES', 'on', ' yes']) {
    t.is(complaint({ DEMO_ACCOUNT: text }), `DEMO_ACCOUNT must be yes or no, not "${text}"`);
  }
});

test('Config - an operator key is long and can be sent, and a bad one is not repeated', (t) => {
  for (const text of ['short', 'with a space in the middle', 'ümlauts-can-not-be-sent', 'x'.repeat(15)]) {
    const line = complaint({ OPERATOR_KEY: text });
    t.regex(line, /^OPERATOR_KEY must be at least 16 /);
    t.false(line.includes(text));
  }
});

const SHARED = { DATABASE_URL: 'postgres://db/petstore', REDIS_URL: 'redis://cache' };

test('Config - a database address is one of PostgreSQL, and a bad one is not repeated', (t) => {
  for (const url of [
    'postgres://petstore:s3cret@db.example:5433/petstore?sslmode=verify-full',
    'postgresql://db/petstore',
  ]) {
    t.is(readConfig({ DATABASE_URL: url }).databaseUrl, url);
  }
  for (const text of ['petstore:s3cret@db', 'mysql://petstore:s3cret@db/petstore', 'postgres://', 's3cret']) {
    const line = complaint({ DATABASE_URL: text });
    t.is(line, 'DATABASE_URL must look like postgres://user:password@host:5432/name');
  }
});

test('Config - a Redis address is of one server, or of the nodes of a cluster', (t) => {
  const redis = (url: string) => readConfig({ REDIS_URL: url }).redis;
  t.deepEqual(redis('redis://cache'), { urls: ['redis://cache'], isCluster: false });
  t.deepEqual(redis('rediss://me:s3cret@cache:6380/2'), {
    urls: ['rediss://me:s3cret@cache:6380/2'],
    isCluster: false,
  });
  t.deepEqual(redis('redis://cache:7000?cluster=true'), { urls: ['redis://cache:7000'], isCluster: true });
  t.deepEqual(redis('rediss://me:s3cret@a:7000,b:7001,rediss://c:7002'), {
    urls: ['rediss://me:s3cret@a:7000', 'rediss://me:s3cret@b:7001', 'rediss://c:7002'],
    isCluster: true,
  });
});

test('Config - a bad Redis address is not repeated', (t) => {
  for (const text of [
    'cache:6379',
    'http://:s3cret@cache',
    'redis://',
    'redis://a:1,',
    'redis://a:1,http://:s3cret@b',
  ]) {
    const line = complaint({ REDIS_URL: text });
    t.is(line, 'REDIS_URL must look like redis://user:password@host:6379, with more nodes after commas');
  }
});

test('Config - several instances have consecutive ports, none of them taken by another setting', (t) => {
  t.deepEqual(grpcPorts(readConfig({ INSTANCES: '3', ...SHARED })), [50051, 50052, 50053]);
  t.is(
    complaint({ INSTANCES: '3', GRPC_PORT: '65534', ...SHARED }),
    'GRPC_PORT must leave room for 3 ports up to 65535',
  );
  const clash = "ENVOY_ADMIN_PORT must not be GRPC_PORT+1's port 9901";
  t.is(complaint({ INSTANCES: '2', GRPC_PORT: '9900', ...SHARED }), clash);
  t.deepEqual(metricsPorts(readConfig({ INSTANCES: '2', METRICS_PORT: '9464', ...SHARED })), [9464, 9465]);
  t.is(
    complaint({ INSTANCES: '2', METRICS_PORT: '65535', ...SHARED }),
    'METRICS_PORT must leave room for 2 ports up to 65535',
  );
  t.is(
    complaint({ INSTANCES: '2', METRICS_PORT: '50050', ...SHARED }),
    "METRICS_PORT+1 must not be GRPC_PORT's port 50051",
  );
  for (const text of ['0', '-1', '1.5', '65', 'many']) {
    t.regex(complaint({ INSTANCES: text, ...SHARED }), /^INSTANCES must be a number from 1 to 64, not /);
  }
});

test('Config - several instances need a database and counters that they can share, and it says which is missing', (t) => {
  t.notThrows(() => readConfig({ INSTANCES: '2', ...SHARED }));
  const { DATABASE_URL, REDIS_URL } = SHARED;
  t.is(
    complaint({ INSTANCES: '2', DATABASE_URL }),
    'INSTANCES=2 needs REDIS_URL (limits in memory are for one process)',
  );
  t.is(complaint({ INSTANCES: '2', REDIS_URL }), 'INSTANCES=2 needs DATABASE_URL (SQLite is for one process)');
  t.regex(complaint({ INSTANCES: '2' }), /needs DATABASE_URL .* and REDIS_URL /);
});

test('Config - a secret may stand in a file, and is checked and kept secret like another', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-config-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'secret');
  const inFile = (text: string) => {
    writeFileSync(file, text);
    return file;
  };
  t.is(readConfig({ OPERATOR_KEY_FILE: inFile('a-key-of-the-operator\n') }).operatorKey, 'a-key-of-the-operator');
  t.is(readConfig({ DATABASE_URL_FILE: inFile(SHARED.DATABASE_URL) }).databaseUrl, SHARED.DATABASE_URL);
  t.false(readConfig({ DATABASE_URL_FILE: file }).demoAccount);
  t.deepEqual(readConfig({ REDIS_URL_FILE: inFile(SHARED.REDIS_URL) }).redis?.urls, [SHARED.REDIS_URL]);
  const line = 'the content of OPERATOR_KEY_FILE must be at least 16 visible ASCII characters';
  t.is(complaint({ OPERATOR_KEY_FILE: inFile('s3cret') }), line);
  t.is(complaint({ OPERATOR_KEY_FILE: inFile('\n') }), line);
});

test('Config - a secret in a file that can not be read, or that is set twice, is refused', (t) => {
  t.regex(complaint({ OPERATOR_KEY_FILE: '/nowhere/key' }), /^OPERATOR_KEY_FILE can't be read: ENOENT/);
  const both = { REDIS_URL: 'redis://cache', REDIS_URL_FILE: '/nowhere/url' };
  t.is(complaint(both), 'REDIS_URL and REDIS_URL_FILE are both set: unset one of them');
  t.is(readConfig({ PORT_FILE: '/nowhere/port' }).port, 8080);
});
