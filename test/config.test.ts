import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { ConfigError, readConfig } from '../src/platform/config/config.ts';
import { SETTINGS } from '../src/platform/config/settings.ts';
import { temporaryFolder } from './support/scope.ts';
import type { Settings } from './support/service/process.ts';

const SHARED = { DATABASE_URL: 'postgres://db/petstore', REDIS_URL: 'redis://cache' };
const TLS = { INTERNAL_TLS_CA: '/tls/ca.pem', INTERNAL_TLS_CERT: '/tls/cert.pem', INTERNAL_TLS_KEY: '/tls/key.pem' };

test('Config - without settings all values are defaults, and listeners are on loopback', (t) => {
  const config = readConfig({});
  t.like(config, {
    ...{ host: '127.0.0.1', port: 8080, grpcHost: '127.0.0.1', grpcPort: 50051, instances: 1, servers: undefined },
    ...{ trustedProxies: [], proxyProtocol: false, envoyAdminHost: '127.0.0.1', envoyAdminPort: 9901 },
    ...{ dataDir: resolve('data'), databaseUrl: undefined, databaseConnections: 10, pgbouncer: false },
    ...{ migrateAtStart: true, redis: undefined, logs: 'files', logLevel: 'info', envoy: undefined },
    ...{ metrics: undefined, metricsHost: '127.0.0.1', otelTracesSamplerArg: 1, internalTls: undefined },
    ...{ demoAccount: true, operatorKey: undefined, logMaxBytes: 50_000_000, logFiles: 5 },
    ...{ idempotencyMs: 24 * 3_600_000, eventsDays: 30, usageDays: 400, eventStreams: 10 },
    ...{ addressPerMinute: 60, addressBurst: 120, addressPerSecond: 20 },
  });
  t.deepEqual(config.limits, {
    plans: {
      free: { perMinute: 60, perDay: 1_000 },
      pro: { perMinute: 300, perDay: 10_000 },
      business: { perMinute: 1_000, perDay: 100_000 },
    },
    ...{ maxStreamMs: 300_000, maxEventStreamMs: 3_600_000 },
    ban: { refusals: 20, windowMs: 60_000, graceMs: 2_000, durationMs: 300_000 },
  });
});

const configError = (t: ExecutionContext, env: Settings) =>
  t.throws(() => readConfig(env), { instanceOf: ConfigError })?.message ?? '';

const server = (host: string, port: number) => ({ host, port });
const of = (address: string, bits: number) => ({ address, bits });
const GOOD: readonly (readonly [settings: Settings, expected: object])[] = [
  [
    {
      ...{ FREE_PER_MINUTE: '1', PRO_PER_DAY: '2', BUSINESS_PER_DAY: '2147483647', ADDRESS_PER_MINUTE: '3' },
      ...{ ADDRESS_BURST: '8', ADDRESS_PER_SECOND: '9', STREAM_SECONDS: '10', EVENT_STREAM_SECONDS: '11' },
      ...{ BAN_REFUSALS: '5', BAN_WINDOW_SECONDS: '6', BAN_GRACE_SECONDS: '0', BAN_SECONDS: '7', EVENT_STREAMS: '3' },
    },
    {
      ...{ addressPerMinute: 3, addressBurst: 8, addressPerSecond: 9, eventStreams: 3 },
      limits: {
        plans: { free: { perMinute: 1 }, pro: { perDay: 2 }, business: { perDay: 2_147_483_647 } },
        ...{ maxStreamMs: 10_000, maxEventStreamMs: 11_000 },
        ban: { refusals: 5, windowMs: 6_000, graceMs: 0, durationMs: 7_000 },
      },
    },
  ],
  [
    {
      ...{ HOST: '::', PORT: '1', GRPC_PORT: '65535', ENVOY: '/usr/bin/envoy', DATA_DIR: 'here', LOG_LEVEL: 'silent' },
      ...{ METRICS_PORT: '9464', METRICS_HOST: '::1', IDEMPOTENCY_HOURS: '48', USAGE_DAYS: '30', EVENTS_DAYS: '7' },
      ...{ DATABASE_CONNECTIONS: '2', PGBOUNCER: 'yes', MIGRATE_AT_START: 'no', DEMO_ACCOUNT: 'no' },
      OPERATOR_KEY: 'a-key-of-the-operator',
    },
    {
      ...{ host: '::', port: 1, grpcPort: 65_535, envoy: '/usr/bin/envoy', dataDir: resolve('here') },
      ...{ logLevel: 'silent', metrics: { host: '::1', port: 9_464 }, idempotencyMs: 48 * 3_600_000, usageDays: 30 },
      ...{ eventsDays: 7, databaseConnections: 2, pgbouncer: true, migrateAtStart: false, demoAccount: false },
      operatorKey: 'a-key-of-the-operator',
    },
  ],
  [
    { PROXY_PROTOCOL: 'yes', TRUSTED_PROXIES: '10.0.0.7, 10.1.0.0/16,fd00::/8,::ffff:10.0.0.0/104' },
    {
      proxyProtocol: true,
      trustedProxies: [of('10.0.0.7', 32), of('10.1.0.0', 16), of('fd00::', 8), of('::ffff:a00:0', 104)],
    },
  ],
  [{ CORS_ORIGINS: '*' }, { corsOrigins: ['*'] }],
  [
    { CORS_ORIGINS: 'https://shop.example, http://localhost:3000,https://shop.example,https://[::1]:8443' },
    { corsOrigins: ['https://shop.example', 'http://localhost:3000', 'https://[::1]:8443'] },
  ],
  ...['capacitor://localhost', 'app://obsidian.md', 'safari-web-extension://9B1DEB4D-3B7D'].map(
    (origin) => [{ CORS_ORIGINS: origin }, { corsOrigins: [origin] }] as const,
  ),
  [SHARED, { demoAccount: false }],
  [{ ...SHARED, DEMO_ACCOUNT: 'yes' }, { demoAccount: true }],
  ...[
    'postgresql://me:s3cret@db:5433/p?sslmode=verify-full',
    'postgres://db/p?options=-c%20search_path%3Dshop&application_name=shop',
    'postgres://db/p?sslmode=verify-ca&sslrootcert=/ca.pem&sslcert=/cert.pem&sslkey=/key.pem',
    'postgres://db/p?host=/run/postgresql&port=5433&ssl=true',
  ].map((url) => [{ DATABASE_URL: url }, { databaseUrl: url, demoAccount: false }] as const),
  [{ REDIS_URL: 'redis://:a%2Cb@a/0' }, { redis: { urls: ['redis://:a%2Cb@a/0'], isCluster: false } }],
  [{ REDIS_URL: 'rediss://a:6380/2' }, { redis: { urls: ['rediss://a:6380/2'], isCluster: false } }],
  [{ REDIS_URL: 'redis://a?cluster=true' }, { redis: { urls: ['redis://a'], isCluster: true } }],
  [
    { REDIS_URL: 'rediss://me:s3cret@a:7000,b:7001,rediss://c:7002' },
    { redis: { urls: ['rediss://me:s3cret@a:7000', 'rediss://me:s3cret@b:7001', 'rediss://c:7002'], isCluster: true } },
  ],
  [
    { REDIS_URL: 'redis://10.0.0.1:6379,10.0.0.2,[fd00::1]:2/0' },
    { redis: { urls: ['redis://10.0.0.1:6379', 'redis://10.0.0.2', 'redis://[fd00::1]:2/0'], isCluster: true } },
  ],
  [
    { ...TLS, SERVERS: 'petstore-0:50051, petstore-1.shop.svc.cluster.local.:1' },
    { servers: [server('petstore-0', 50_051), server('petstore-1.shop.svc.cluster.local.', 1)] },
  ],
  [{ ...TLS, SERVERS: '10.0.0.11:1,[fd00::1]:2' }, { servers: [server('10.0.0.11', 1), server('fd00::1', 2)] }],
  [{ SERVERS: 'localhost:1,[::1]:1' }, { servers: [server('localhost', 1), server('::1', 1)] }],
  [{ GRPC_HOST: '127.9.9.9' }, { grpcHost: '127.9.9.9' }],
  [
    { GRPC_HOST: '::ffff:127.0.0.1', LOGS: 'stdout' },
    { grpcHost: '::ffff:127.0.0.1', logs: 'stdout' },
  ],
  [{ GRPC_HOST: '0.0.0.0', ...TLS }, { grpcHost: '0.0.0.0' }],
];

for (const [settings, expected] of GOOD) {
  test(`Config - ${JSON.stringify(settings)} is read`, (t) => t.like(readConfig(settings), expected));
}

test('Config - an empty setting counts as unset, and other variables are ignored', (t) => {
  const names = Object.keys(SETTINGS).flatMap((name) => [name, `${name}_FILE`]);
  const empty = Object.fromEntries(names.map((name) => [name, '']));
  t.deepEqual(readConfig({ ...empty, PATH: '/usr/bin', port: '1', PORT_FILE: '/nowhere' }), readConfig({}));
});

const PROXIES = 'list IP addresses or networks after commas, such as 10.0.0.7,10.1.0.0/16,fd00::/8';
const ORIGINS = 'be origins such as https://shop.example or capacitor://localhost, with commas between several, or *';
const DATABASE = 'postgres://db/p?';
const BAD: readonly [setting: keyof typeof SETTINGS, values: readonly string[], rule: string][] = [
  ['PORT', ['0', '65536', '-1', '80.5', '1e3', '0x50', 'abc', ' 80', '80 ', '８０'], 'be a port from 1 to 65535'],
  ['IDEMPOTENCY_HOURS', ['0', '8761', '1.5', '-1', 'day'], 'be a number from 1 to 8760'],
  ['FREE_PER_MINUTE', ['0', '-1', '1.5', 'many', '2147483648'], 'be a number from 1 to 2147483647'],
  ['OTEL_TRACES_SAMPLER_ARG', ['0', '0.0', '1.1', '-1', 'half'], 'be a number above 0, and 1 at the most'],
  ['DATABASE_CONNECTIONS', ['0', '1', '1001', '2.5', 'many'], 'be a number from 2 to 1000'],
  ['INSTANCES', ['0', '-1', '1.5', '65', 'many'], 'be a number from 1 to 64'],
  [
    'HOST',
    ['foo', 'localhost', '127.0.0.256', '127.0.0.1:80', '[::1]', '*', '1'],
    'be an IP address, such as 127.0.0.1 or 0.0.0.0',
  ],
  ['TRUSTED_PROXIES', ['nginx', '10.0.0', '10.1', '0xa.0.0.1', '10.0.0.7:80', '[::1]', 'fe80::1%eth0', ','], PROXIES],
  ['TRUSTED_PROXIES', ['10.0.0.7,', ' ', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.0/-1'], PROXIES],
  ['TRUSTED_PROXIES', ['10.0.0.0/255.0.0.0', 'fd00::/129', '10.1.0.7/16', 'fd00::1/8', '0.0.0.0/0', '::/0'], PROXIES],
  ['CORS_ORIGINS', ['shop.example', 'https://shop.example/', 'https://shop.example/shop', 'https://A.b'], ORIGINS],
  ['CORS_ORIGINS', ['https://shop.example:443', 'https://user@shop.example', 'ftp://shop.example', 'null'], ORIGINS],
  ['CORS_ORIGINS', ['tauri://localhost/', 'ionic:localhost', 'app://', 'a b://c', "x://'y", 'file://x'], ORIGINS],
  ['CORS_ORIGINS', ['https://*.a.example', "https://a'.example", '*,https://a.b', 'https://a.b,', 'wss://x'], ORIGINS],
  ['LOG_LEVEL', ['loud', 'INFO', '30'], 'be one of trace, debug, info, warn, error, fatal, silent'],
  ['LOGS', ['syslog'], 'be one of files, stdout'],
  ['DEMO_ACCOUNT', ['1', 'true', 'YES', 'on', ' yes'], 'be yes or no'],
  [
    'SERVERS',
    [
      ...['petstore', 'petstore:', ':1', 'petstore:0', 'petstore:65536', 'a:1,', 'a:1 b:2', 'http://a:1', 'a/b:1'],
      ...['fd00::1:50051', '[10.0.0.1]:1', '10.0.0.256:1', '10.0.0:1', '-a:1', `${'a'.repeat(64)}:1`, 'a\n:1'],
    ],
    'be host:port, with commas between several, such as petstore-0:50051',
  ],
  [
    'DATABASE_URL',
    [
      ...['petstore:s3cret@db', 'mysql://petstore:s3cret@db/petstore', 'postgres://', 's3cret', 'postgres://db/100%'],
      ...['postgres://me:5432#s3cret@db/p', `${DATABASE}sslmode=disable&sslmode=`, `${DATABASE}sslMode=require`],
      ...[`${DATABASE}sslmode=`, `${DATABASE}sslmode=no-verify`, `${DATABASE}sslmode=require&connect_timeout=5`],
      ...[`${DATABASE}ssl=s3cret`, `${DATABASE}password=s3cret`],
    ],
    'look like postgres://user:password@host:5432/name, with no parameters but ssl,sslmode,sslrootcert,sslcert,' +
      'sslkey,options,host,port,application_name',
  ],
  [
    'REDIS_URL',
    [
      ...['cache:6379', 'http://:s3cret@cache', 'redis://', 'redis://a:1,', 'redis://a:1,http://:s3cret@b'],
      ...['redis://:100%s3cret@cache', 'redis://me%4:1s3cret@cache', 'redis://cache/s3cret'],
      ...['?db=2', '?password=s3cret', '?cluster=s3cret', '?cluster=true&db=2', '#s3cret', '/2#', '?', ',b?db=2'].map(
        (end) => `redis://cache${end}`,
      ),
      ...['redis://me:12,s3cret@cache', 'redis://:12,34@a,b', 'redis://me,s3cret:1@cache', 'redis://me:1#s3cret@cache'],
      ...['redis://a/2,b', 'redis://a,b/2', 'redis://a/02?cluster=true'],
    ],
    'look like redis://user:password@host:6379/0, or like redis://:password@a:6379,b:6379 for a cluster, with no ' +
      'parameter but ?cluster=true; %2C is a comma in a password',
  ],
  [
    'REDIS_URL',
    ['redis://:s3cret@a,rediss://:s3cret@b', 'rediss://a,b,redis://c', 'rediss://a,redis://a?cluster=true'],
    'be redis:// for all nodes, or rediss:// for all',
  ],
  [
    'OPERATOR_KEY',
    ['short', 'with a space in the middle', 'ümlauts-can-not-be-sent', 'x'.repeat(15)],
    'be at least 16 visible ASCII characters',
  ],
];

for (const [name, values, rule] of BAD) {
  const isSecret = 'isSecret' in SETTINGS[name];
  test(`Config - a bad ${name} such as ${values[0]} is refused${isSecret ? ', and not repeated' : ''}`, (t) => {
    for (const text of values) {
      const line = `${name} must ${rule}${isSecret ? '' : `, not ${JSON.stringify(text)}`}`;
      t.is(configError(t, { [name]: text }), line);
    }
  });
}

const FAR = ', which is not loopback: set INTERNAL_TLS_CA, INTERNAL_TLS_CERT and INTERNAL_TLS_KEY';
const TOGETHER: readonly (readonly [settings: Settings, line: string])[] = [
  ...[{ DATABASE_URL: 'postgres://db/p' }, { REDIS_URL: 'redis://cache' }, {}].map(
    (settings) => [{ INSTANCES: '2', ...settings }, 'INSTANCES above 1 needs DATABASE_URL and REDIS_URL: '] as const,
  ),
  [{ PROXY_PROTOCOL: 'yes' }, 'PROXY_PROTOCOL=yes needs TRUSTED_PROXIES: the addresses that may connect'],
  [{ TLS_CERT: 'a.pem' }, 'TLS_KEY must be set too: TLS_CERT and TLS_KEY belong together'],
  [{ HTTP_PORT: '8081' }, 'HTTP_PORT needs TLS_CERT and TLS_KEY: it only sends callers on to HTTPS'],
  [{ INTERNAL_TLS_CA: 'ca.pem' }, 'INTERNAL_TLS_CERT and INTERNAL_TLS_KEY must be set too: '],
  ...['0.0.0.0', '::', '10.0.0.1', 'fd00::1', '::ffff:10.0.0.1', '128.0.0.1'].map(
    (host) => [{ GRPC_HOST: host }, `GRPC_HOST names ${host}${FAR}`] as const,
  ),
  [{ SERVERS: 'petstore-0:1' }, `SERVERS names petstore-0${FAR}`],
  [{ SERVERS: '127.0.0.1:1,10.0.0.1:1' }, `SERVERS names 10.0.0.1${FAR}`],
  [{ SERVERS: 'localhost.example:1' }, `SERVERS names localhost.example${FAR}`],
  [{ OPERATOR_KEY_FILE: '/nowhere/key' }, "OPERATOR_KEY_FILE can't be read: ENOENT"],
  [{ REDIS_URL: 'redis://a', REDIS_URL_FILE: '/nowhere' }, 'REDIS_URL and REDIS_URL_FILE are both set: unset one'],
];

for (const [settings, line] of TOGETHER) {
  test(`Config - ${JSON.stringify(settings)} is refused, with the reason`, (t) =>
    t.is(configError(t, settings).slice(0, line.length), line));
}

test('Config - a secret in a file is checked and kept secret like any other', (t) => {
  const file = join(temporaryFolder(t), 'secret');
  const inFile = (text: string) => {
    writeFileSync(file, text);
    return file;
  };
  t.is(readConfig({ EDGE_SECRET_FILE: inFile('a-secret-of-all-edges\r\n') }).edgeSecret, 'a-secret-of-all-edges');
  t.false(readConfig({ DATABASE_URL_FILE: inFile(SHARED.DATABASE_URL) }).demoAccount);
  t.deepEqual(readConfig({ REDIS_URL_FILE: inFile(`${SHARED.REDIS_URL}\n`) }).redis?.urls, [SHARED.REDIS_URL]);
  const line = 'the content of OPERATOR_KEY_FILE must be at least 16 visible ASCII characters';
  for (const text of ['s3cret', '\n']) t.is(configError(t, { OPERATOR_KEY_FILE: inFile(text) }), line);
});
