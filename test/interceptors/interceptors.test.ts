/** The address of a caller; what the operator's calls need; what is logged of calls. */
import { readFileSync } from 'node:fs';
import test from 'ava';
import pino from 'pino';
import { CreateKeyRequest, RotateKeyRequest } from '../../gen/apiplatform/admin/v1/admin.ts';
import { generateKey } from '../../src/platform/access/keys/format.ts';
import { type ApiError, apiError, invalidArgument } from '../../src/platform/errors.ts';
import { audit } from '../../src/platform/interceptors/audit.ts';
import { operatorOnly } from '../../src/platform/interceptors/operator-only.ts';
import { logging } from '../../src/platform/observe/logging/log-calls.ts';
import { addressOf } from '../../src/platform/rpc/address.ts';
import type { Next } from '../../src/platform/rpc/chain.ts';
import { run as end, newCall, RESPONSE, type TestCall } from '../support/service/call.ts';

// biome-ignore lint/suspicious/noExplicitAny: a log line is whatever was logged
type Line = any;

function newAudit(nowMs?: () => number) {
  const lines: Line[] = [];
  const logger = pino({ base: null, timestamp: false }, { write: (line: string) => lines.push(JSON.parse(line)) });
  const { passed, refused } = audit(logger, nowMs);
  const run = (call: TestCall, next: Next) => end(call, (received) => passed.run(received, next));
  /** Sends a call without the operator's key, whose address may be beyond its limit. */
  const attempt = (count: () => Promise<void>) => {
    const enter = operatorOnly(generateKey('operator'), { countForAddress: count }, refused);
    return end(operatorCall('ListAccounts'), async (call) => {
      await enter.check(call);
      return RESPONSE;
    });
  };
  return { lines, run, refused, attempt };
}

const METADATA = { authorization: 'Bearer SECRET-KEY', 'user-agent': `cli/1 ${'x'.repeat(500)}`, cookie: 'SECRET' };

function operatorCall(method: string, bytes: Uint8Array = Buffer.of()): TestCall {
  return newCall(`/apiplatform.admin.v1.AdminService/${method}`, { bytes, metadata: METADATA });
}

test('Audit - a call is a line with method, arguments, created ids, outcome, address and user agent', async (t) => {
  const { lines, run } = newAudit();
  const bytes = CreateKeyRequest.encode({
    accountId: 7n,
    label: 'SECRET label',
    expireTime: { seconds: 1n, nanos: 0 },
  }).finish();
  const message = { apiKey: { id: 17n, prefix: 'pst_12345678' }, key: 'SECRET-NEW-KEY' };
  await run(operatorCall('CreateKey', bytes), async () => ({ message, bytes: Buffer.of() }));
  const { userAgent, ...line } = lines[0];
  t.deepEqual(line, {
    level: 30,
    method: 'CreateKey',
    arguments: { accountId: '7', expireTime: '1970-01-01T00:00:01Z' },
    made: { keyId: '17' },
    outcome: 'OK',
    address: '127.0.0.1',
    requestId: 'request-1',
    msg: 'the operator',
  });
  t.regex(userAgent, /^cli\/1 x{122}$/);
  const rotation = RotateKeyRequest.encode({ keyId: 17n, overlapSeconds: 60 }).finish();
  const rotated = { apiKey: { id: 18n, replaces: 17n }, key: 'SECRET-NEW-KEY', replaced: { id: 17n } };
  await run(operatorCall('RotateKey', rotation), async () => ({ message: rotated, bytes: Buffer.of() }));
  t.like(lines[1], { arguments: { keyId: '17', overlapSeconds: 60 }, made: { keyId: '18' } });
  t.notRegex(JSON.stringify(lines), /SECRET|label/);
});

test('Audit - an attempt without the key is a warning that contains nothing of the request', async (t) => {
  const { lines, attempt } = newAudit();
  await attempt(() => Promise.reject(apiError('RATE_LIMITED', { window: 'minute', limit: 60, retryAfterSeconds: 1 })));
  t.deepEqual(lines, [], 'beyond the limit of its address it is none');
  await attempt(async () => undefined);
  t.like(lines[0], { level: 40, method: 'ListAccounts', outcome: 'OPERATOR_KEY_INVALID', address: '127.0.0.1' });
  t.is(lines[0].arguments, undefined);
  t.notRegex(JSON.stringify(lines), /SECRET/);
});

test('Audit - attempts without the key are few lines, whatever addresses they have', (t) => {
  let nowMs = 0;
  const { lines, refused } = newAudit(() => nowMs);
  for (let index = 0; index <= 1_000; index += 1) {
    if (index === 1_000) nowMs += 60_000;
    const address = `127.0.${index >> 8}.${index & 255}`;
    refused({ ...operatorCall('ListAccounts'), address }, apiError('API_KEY_MISSING'));
  }
  t.like(lines, { length: 21, 20: { level: 40, address: '127.0.3.232' } });
});

test('Operator - a call with the operator key passes, any other is OPERATOR_KEY_INVALID and counts', async (t) => {
  const operatorKey = generateKey('operator');
  let [counted, refused] = [0, 0];
  const count = async () => {
    counted += 1;
  };
  const interceptor = operatorOnly(operatorKey, { countForAddress: count }, () => {
    refused += 1;
  });
  const send = async (authorization: string) => {
    const call = newCall('PetService/GetPet', { metadata: { authorization } });
    return Promise.try(() => interceptor.check(call)).catch((error: ApiError) => error.code);
  };
  t.is(await send(`Bearer ${operatorKey}`), undefined);
  const others = [generateKey(), generateKey('operator'), operatorKey.slice(0, -1), `${operatorKey}0`];
  const wrong = ['', ...others.map((key) => `Bearer ${key}`)];
  t.deepEqual([counted, refused], [0, 0]);
  for (const authorization of wrong) t.is(await send(authorization), 'OPERATOR_KEY_INVALID');
  t.deepEqual([counted, refused], [wrong.length, wrong.length]);
});

const CALL = { level: 20, requestId: 'request-1', method: '/petstore.v1.PetService/CreatePet' };

test('Logging - a call is one line, with nothing of headers, body, response or error message', async (t) => {
  const metadata = { authorization: 'Bearer SECRET-KEY', cookie: 'SECRET-COOKIE', 'x-forwarded-for': 'SECRET-ADDRESS' };
  const call = newCall('PetService/CreatePet', { metadata, bytes: Buffer.from('SECRET-BODY') });
  const violations = [{ path: 'pet.SECRET', name: 'SECRET', description: 'SECRET' }];
  const response = { message: { name: 'SECRET-RESPONSE' }, bytes: Buffer.from('SECRET-RESPONSE') };
  const ends: readonly (readonly [Next, string])[] = [
    [async () => response, 'OK'],
    [() => Promise.reject(invalidArgument(violations)), 'INVALID_ARGUMENT'],
  ];
  for (const [next, outcome] of ends) {
    const lines: unknown[] = [];
    const write = (line: string) => lines.push(JSON.parse(line));
    logging(pino({ level: 'trace', base: null, timestamp: false }, { write }))(call, await end(call, next));
    t.deepEqual(lines, [{ ...CALL, outcome, durationMs: 1, msg: 'call' }]);
  }
});

const addressBehind = (forwarded: string | undefined, peer = '::ffff:10.0.0.9') => addressOf(forwarded, () => peer);

for (const [title, same, expected] of [
  ['a zone is no part of it', ['eth0', 'eth0.100', 'br-lan', ''].map((zone) => `fe80::1%${zone}`), 'fe80::/64'],
  ["of several only the last counts, Envoy's", ['1.2.3.4, 192.0.2.7', '1.2.3.4, 5.6.7.8,192.0.2.7'], '192.0.2.7'],
  ['without one from Envoy it is that of the connection, over IPv6 too', [undefined, '192.0.2.8,'], '10.0.0.9'],
] as const) {
  test(`Address of a caller - ${title}`, (t) => {
    for (const text of same) t.is(addressBehind(text), expected, text);
  });
}

test('Address of a caller - text that is not an address is used unchanged', (t) => {
  for (const text of ['unknown', '192.0.2.7:80', '::ffff:192.0.2.700', ':', 'a:b']) t.is(addressBehind(text), text);
});

test('Address of a caller - is one caller to the server and to Envoy, also of a connection', (t) => {
  const lines = readFileSync('envoy/test/networks.txt', 'utf8').match(/^[^#\n].*$/gm) ?? [];
  for (const [name = '', ...addresses] of lines.map((line) => line.split(' '))) {
    for (const peer of addresses) t.is(addressBehind(undefined, peer), name, `${peer}: envoy/allowance.lua differs`);
  }
});
