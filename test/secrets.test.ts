/** Keys are written only to their own files: never to a log, an error or the database. */
import { readdirSync, readFileSync } from 'node:fs';
import type { ServiceError } from '@grpc/grpc-js';
import { Plan } from '../gen/apiplatform/admin/v1/admin.ts';
import { CategoryServiceService as Categories } from '../gen/petstore/v1/categories.ts';
import { PetServiceService as Pets } from '../gen/petstore/v1/pets.ts';
import { generateKey } from '../src/platform/access/keys/format.ts';
import { operatorKeyFile } from '../src/platform/access/keys/key-files.ts';
import { GrpcCaller } from './support/calls/grpc-caller.ts';
import type { RestClient } from './support/calls/rest-client.ts';
import { http1, http2 } from './support/calls/wire.ts';
import { change } from './support/machine/database.ts';
import { sharing } from './support/service/sharing.ts';
import { startTestStack, type TestStack } from './support/service/stack.ts';

/** Paths without a key, which the access log shows. */
const SHOWN_PATHS = ['/pets/1', '/store/inventory/-9223372036854775808', '/docs/swagger-ui-bundle.js', '/wp-login.php'];

/** The number of a key's first characters that are stored to identify it. */
const DISPLAYED = 12;

const test = sharing(undefined, async (t) => {
  const stack = await startTestStack(t, { LOG_LEVEL: 'trace', BAN_GRACE_SECONDS: '0' });
  const { config, rest, grpc, operator } = stack;
  const direct = new GrpcCaller(stack.grpcAddress, undefined);
  const account = await operator.account(Plan.PLAN_FREE);
  const limited = await operator.account({ perMinute: 2, perDay: 1_000 });
  const keyOf = async (id: bigint) => (await operator.key(id)).key;
  const [made, other, banned] = [await keyOf(account.id), await keyOf(account.id), await keyOf(limited.id)];
  const unknown = generateKey();
  const keys = [stack.key, made, other, banned, unknown, `${made.slice(0, -1)}_`, 'pst_mistyped', undefined];

  const errors: string[] = [];
  const calls = async () => {
    for (const key of keys) {
      errors.push(...(await restSession(rest.withKey(key))));
      for (const caller of [grpc, direct]) errors.push(...(await grpcSession(caller.withKey(key))));
    }
  };
  await calls();
  for (const key of [stack.key, unknown, generateKey('operator')]) await sendEverywhere(stack, key);
  for (let count = 0; count < 30; count += 1) errors.push((await rest.withKey(banned).get('/pets')).text);

  // From here on the service fails.
  change(config.dataDir, 'ALTER TABLE categories RENAME TO hidden');
  await calls();
  direct.close();
  await stack.stack.stop();

  const operatorKey = readFileSync(operatorKeyFile(config.dataDir), 'utf8').trim();
  const secrets = [...keys.filter((key) => key !== undefined), operatorKey];
  return { secrets, files: readAll(config.dataDir), errors };
});

const percentEncoded = (text: string) => Buffer.from(text).toString('hex').replace(/../g, '%$&');

/** Requests with a key in the request line, in a header, or in the body. */
function requestsWith(key: string): string[] {
  const paths = [
    ...[`/pets/${key}`, `/${key}/pets`, `/pets?limit=${key}`, `/pets/1.${key}.x`, `/pets\\${key}`, `/pets/%3F${key}`],
    ...[`/pets/${percentEncoded(key)}`, `/pets/${percentEncoded(`${key}/`)}`, `/pets#${key}`, `/%00/${key}`, key],
    ...[`http://x/${key}`, `/${'x'.repeat(300)}${key}`, `/${'x/'.repeat(120)}${key}`, `/petstore.v1.PetService/${key}`],
  ];
  const lines = [...paths.map((path) => `GET ${path} HTTP/1.1`), `${key} /pets HTTP/1.1`, `GET /pets ${key}`];
  const headers = [
    `X-Request-Id: ${key}`, // and no Host, which is refused early
    `Host: x\r\nX-Request-Id: ${key}\r\nX-Envoy-Original-Path: /${key}\r\nX-Envoy-Original-Method: ${key}`,
    `Host: ${key}`,
    `Host: x\r\nContent-Type: application/grpc\r\nTE: ${key}`,
    `Host: x\r\n${key}: ${key}\xff`,
    `Host: x\r\nAuthorization: \xe9Bearer ${key} \xff\r\nX-Api-Key: ${key}\xe9`,
    `Host: x\r\nTransfer-Encoding: ${key}`,
    `Host: x\r\nContent-Length: ${key}`,
  ];
  const body = `{"name":"${key}","${key}":}`;
  const post = 'POST /pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
  return [
    ...lines.map((line) => `${line}\r\nHost: x\r\n\r\n`),
    ...headers.map((header) => `${lines[0]}\r\n${header}\r\n\r\n`),
    `${post}Content-Length: ${body.length}\r\n\r\n${body}`,
    `${post}Transfer-Encoding: chunked\r\n\r\n${key}`,
  ];
}

/** Sends a key wherever a request may have one, also as the key of the request. */
async function sendEverywhere({ publicAddress, rest }: TestStack, key: string): Promise<void> {
  let responses = 0;
  for (const request of requestsWith(key)) {
    for (const authorization of ['', `\r\nAuthorization: Bearer ${key}`]) {
      const sent = Buffer.from(request.replace(' HTTP/1.1', ` HTTP/1.1${authorization}`), 'latin1');
      // Some are closed without a response, or with one that is not REST.
      if (await http1(publicAddress, sent).catch(() => undefined)) responses += 1;
    }
  }
  if (responses < 30) throw new Error(`only ${responses} responses`);
  const headers = { 'x-request-id': key, authorization: `Bearer ${key}` };
  for (const path of [`/pets/${key}`, `/%00/${key}`]) await http2(publicAddress, { method: 'GET', path, headers });
  for (const path of SHOWN_PATHS) await rest.get(path);
}

/** Makes good and bad calls. Resolves with the bodies of the errors. */
async function restSession(rest: RestClient): Promise<string[]> {
  const paths = ['/pets', '/nothing', '/pets/999999', '/pets?colour=red', '/categories/1'];
  const responses = [
    ...(await Promise.all(paths.map((path) => rest.get(path)))),
    await rest.delete('/pets'),
    await rest.post('/pets', { name: '' }),
    await rest.post('/categories', { name: 'Cats' }),
    await rest.send('POST', '/pets', { raw: '{"name":', headers: { 'content-type': 'application/json' } }),
    await rest.send('POST', '/pets', { raw: 'a=b', headers: { 'content-type': 'text/plain' } }),
  ];
  return responses.filter(({ status }) => status >= 400).map(({ text }) => text);
}

async function grpcSession(grpc: GrpcCaller): Promise<string[]> {
  const failed = (error: ServiceError) => `${error.message} ${JSON.stringify(error.metadata.toJSON())}`;
  const responses = [
    await grpc.call(Categories.createCategory, { category: { name: 'Cats' } }).catch(failed),
    await grpc.call(Pets.getPet, { petId: 999_999n }).catch(failed),
    await grpc.call(Pets.createPet, { pet: undefined }).catch(failed),
  ];
  return responses.filter((response) => typeof response === 'string');
}

/** Every file that the service has written, except key files. */
function readAll(folder: string): Map<string, Buffer> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.key'))
    .map((entry) => `${entry.parentPath}/${entry.name}`);
  return new Map(names.map((name) => [name, readFileSync(name)]));
}

/** Returns the key as text, without the characters that are stored, in base64, in hex and percent-encoded. */
function encodings(key: string): string[] {
  const isShown = key.length <= DISPLAYED;
  const base64 = Buffer.from(key).toString('base64').replace(/=+$/, '');
  const hex = Buffer.from(key).toString('hex');
  return [key, ...(isShown ? [] : [key.slice(DISPLAYED)]), base64, hex, percentEncoded(key)];
}

test('Secrets - the session has refusals of each kind, internal errors, logs and a database', (t) => {
  const errors = t.context.errors.join();
  const codes = ['API_KEY_MISSING', 'API_KEY_INVALID', 'RATE_LIMITED', 'API_KEY_BANNED', 'INTERNAL', 'ROUTE_NOT_FOUND'];
  for (const code of [...codes, 'MALFORMED_BODY', 'METHOD_NOT_ALLOWED', 'PET_NOT_FOUND']) t.regex(errors, RegExp(code));
  const names = [...t.context.files.keys()].join();
  for (const name of ['server.log', 'envoy.log', 'access.log', 'petstore.sqlite']) t.regex(names, RegExp(name));
});

test('Secrets - no file except key files contains a key, in any encoding', (t) => {
  for (const [name, bytes] of t.context.files) {
    for (const text of t.context.secrets.flatMap(encodings)) t.false(bytes.includes(text), name);
    if (name.endsWith('.log')) t.notRegex(bytes.toString('latin1'), /authorization|bearer/i, name);
    if (!name.endsWith('access.log')) continue;
    for (const path of [...SHOWN_PATHS, '(hidden)']) t.true(bytes.includes(`"path":"${path}"`), path);
  }
});

test('Secrets - no error repeats a key or an internal cause, which is logged', (t) => {
  for (const text of t.context.errors) {
    for (const secret of t.context.secrets) t.false(text.includes(secret));
    t.notRegex(text, /no such table|SQLITE|hidden/);
  }
  const [, log = Buffer.of()] = [...t.context.files].find(([name]) => name.endsWith('server.log')) ?? [];
  t.true(log.includes('no such table'));
});
