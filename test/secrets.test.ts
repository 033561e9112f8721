/** Keys are written only to their own files: never to a log, an error or the database. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ServiceError } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { Plan } from '../gen/petstore/admin/v1/admin.ts';
import { CategoryServiceService as Categories } from '../gen/petstore/v1/categories.ts';
import { PetServiceService as Pets } from '../gen/petstore/v1/pets.ts';
import { generateKey } from '../src/access/keys/format.ts';
import { operatorKeyFile } from '../src/access/keys/key-files.ts';
import { GrpcCaller } from './support/grpc-caller.ts';
import { connectOperator } from './support/operator.ts';
import type { RestClient } from './support/rest-client.ts';
import { startTestStack } from './support/stack.ts';

interface Session {
  readonly secrets: readonly string[];
  /** Every file that the service has written, except key files. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** Every error body and error trailer. */
  readonly errors: readonly string[];
}

const test = anyTest as TestFn<Session>;

/** The number of a key's first characters that are stored to identify it. */
const DISPLAYED = 12;

test.before(async (t) => {
  const stack = await startTestStack({ LOG_LEVEL: 'trace' });
  const { config, rest, grpc } = stack;
  const direct = new GrpcCaller(stack.grpcAddress, undefined);
  const operator = await connectOperator(stack);
  const account = await operator.account(Plan.PLAN_FREE);
  const limited = await operator.account({ perMinute: 2, perDay: 1_000 });
  const [made, other, banned] = [
    (await operator.key(account.id)).key,
    (await operator.key(account.id)).key,
    (await operator.key(limited.id)).key,
  ];
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
  for (let count = 0; count < 30; count += 1) errors.push((await rest.withKey(banned).get('/pets')).text);

  // From here on the service fails.
  const database = new DatabaseSync(join(config.dataDir, 'petstore.sqlite'), { timeout: 10_000 });
  database.exec('ALTER TABLE categories RENAME TO hidden');
  database.close();
  await calls();
  operator.close();
  direct.close();
  await stack.stack.stop();

  const operatorKey = readFileSync(operatorKeyFile(config.dataDir), 'utf8').trim();
  const secrets = [...keys.filter((key) => key !== undefined), operatorKey];
  t.context = { secrets, files: readAll(config.dataDir), errors };
  await stack.close();
});

/** Makes good and bad calls. Resolves with the bodies of the errors. */
async function restSession(rest: RestClient): Promise<string[]> {
  const responses = [
    ...(await Promise.all(
      ['/pets', '/nothing', '/pets/999999', '/pets?colour=red', '/categories/1'].map((path) => rest.get(path)),
    )),
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

function readAll(folder: string): Map<string, Buffer> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.key'))
    .map((entry) => join(entry.parentPath, entry.name));
  return new Map(names.map((name) => [name, readFileSync(name)]));
}

/** Returns the key as text, without the characters that are stored, in base64 and in hex. */
function encodings(key: string): string[] {
  const isShown = key.length <= DISPLAYED;
  const base64 = Buffer.from(key).toString('base64').replace(/=+$/, '');
  return [key, ...(isShown ? [] : [key.slice(DISPLAYED)]), base64, Buffer.from(key).toString('hex')];
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
