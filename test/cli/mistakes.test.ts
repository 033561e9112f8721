import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { generateKey } from '../../src/access/keys/format.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { type Petstore, petstore } from './command.ts';

const test = anyTest as TestFn<TestStack & { command: Petstore }>;

test.before(async (t) => {
  const stack = await startTestStack();
  t.context = { ...stack, command: petstore(stack) };
});
test.after.always((t) => t.context.close());

const [FAILED, USAGE] = [1, 2];

/** Runs the command, which must fail with one line on stderr, and returns the line. */
async function errorLine(
  command: Petstore,
  line: string,
  env?: Readonly<Record<string, string>>,
  expected = FAILED,
): Promise<string> {
  const { exitCode, stdout, stderr } = await command(line === '' ? [] : line.split(' '), env);
  const isOneLine = /^petstore: [^\n]+\n$/.test(stderr);
  if (exitCode === expected && stdout === '' && isOneLine) return stderr.slice('petstore: '.length, -1);
  throw new Error(`petstore ${line}: exit ${exitCode}, stdout "${stdout}", stderr "${stderr}"`);
}

const ARGUMENTS: Readonly<Record<string, string | RegExp>> = {
  'acount list': "unknown command 'acount' (Did you mean account?)",
  'account shwo 1': "unknown command 'shwo' (Did you mean show?)",
  'account list --jsn': "unknown option '--jsn' (Did you mean --json?)",
  'account create --plan free': "required option '--name <name>' not specified",
  'account create --name X': "required option '--plan <plan>' not specified",
  'account create --name X --plan gold':
    "option '--plan <plan>' argument 'gold' is invalid. Allowed choices are free, pro, business, enterprise.",
  'account show': "missing required argument 'id'",
  'account show abc': /^ID must be a whole number from 0 to 9223372036854775807, not "abc"$/,
  'account show 9223372036854775808': /^ID must be a whole number/,
  'account set 1': 'say what to set: --plan, --per-minute or --per-day',
  'account set 1 --per-minute x': '--per-minute must be a whole number from 1 to 2147483647, not "x"',
  'account set 1 --per-day 2147483648': /^--per-day must be a whole number from 1 to 2147483647/,
  'key create': "required option '--account <id>' not specified",
  'key create --account 1 --expires soon':
    '--expires must be a date such as 2027-01-31 or 2027-01-31T12:00:00Z, not "soon"',
  'key create --account 1 --expires 2027-02-30': /^--expires must be a date/,
  'key create --account 1 --expires 2027-01-31T12:00:00': /^--expires must be a date/, // no time zone
  'key unban': "missing required argument 'key-id'",
  'key unban x': /^KEY_ID must be a whole number/,
  'key revoke pst_abc': 'KEY_ID must be a number, as "petstore key list" shows it, not a key',
  'ban list --account x': /^--account must be a whole number/,
  'usage --account 1 --days x': /^--days must be a whole number/,
  'account list --address http://localhost': /^--address must be HOST:PORT/,
};

test('arguments - an error is one line that names the mistake, with exit code 2', async (t) => {
  for (const [line, expected] of Object.entries(ARGUMENTS)) {
    const actual = await errorLine(t.context.command, line, {}, USAGE);
    if (typeof expected === 'string') t.is(actual, expected);
    else t.regex(actual, expected);
  }
});

const REFUSALS: Readonly<Record<string, RegExp>> = {
  'account show 999': /^account 999 does not exist$/,
  'key create --account 999': /^account 999 does not exist$/,
  'key list --account 999': /^account 999 does not exist$/,
  'usage --account 999': /^account 999 does not exist$/,
  'key revoke 999': /^API key 999 does not exist$/,
  'key unban 999': /^API key 999 does not exist$/,
  'ban list --account 999': /^account 999 does not exist$/,
};

test("refusals - print the server's message on one line, with exit code 1", async (t) => {
  for (const [line, expected] of Object.entries(REFUSALS)) t.regex(await errorLine(t.context.command, line), expected);
});

const VALUES: Readonly<Record<string, string | RegExp>> = {
  'account create --name X --plan enterprise':
    '--per-minute is needed for an enterprise account; --per-day is needed for an enterprise account',
  'account create --name X --plan free --per-minute 4':
    '--per-minute is for enterprise accounts: the free plan has its own limits',
  'account set 1 --per-day 4': '--per-day is for enterprise accounts: the business plan has its own limits',
  'key create --account 1 --expires 2020-01-01': '--expires must be greater than now',
  [`key create --account 1 --label ${'x'.repeat(201)}`]: /^--label must be at most 200 characters$/,
  'usage --account 1 --days 401': /^--days must be /,
};

test('values - a value that the server refuses is named by its flag, with exit code 2', async (t) => {
  for (const [line, expected] of Object.entries(VALUES)) {
    const actual = await errorLine(t.context.command, line, {}, USAGE);
    if (typeof expected === 'string') t.is(actual, expected);
    else t.regex(actual, expected);
  }
  const blank = await t.context.command(['account', 'create', '--name', ' ', '--plan', 'free']);
  t.deepEqual([blank.exitCode, blank.stderr], [USAGE, 'petstore: --name must be 1 to 200 characters after trimming\n']);
});

test('--json - an error is JSON on stderr with an error code; the exit code is the same', async (t) => {
  const { command, publicAddress, config } = t.context;
  const cases = [
    ['account show 999', {}, FAILED, 'ACCOUNT_NOT_FOUND', 'account 999 does not exist'],
    ['account create --name X --plan free --per-day 1', {}, USAGE, 'INVALID_ARGUMENT', /^--per-day is for enterprise/],
    ['account shwo 1', {}, USAGE, 'USAGE', "unknown command 'shwo' (Did you mean show?)"],
    ['account show x', {}, USAGE, 'USAGE', /^ID must be/],
    ['key', {}, USAGE, 'USAGE', 'a command is missing: see "petstore --help"'],
    ['', {}, USAGE, 'USAGE', /^a command is missing/],
    ['account list', { GRPC_PORT: '1' }, FAILED, 'SERVER_AWAY', /^nothing answers at 127\.0\.0\.1:1: /],
    ['account list', { OPERATOR_KEY: generateKey('pso') }, FAILED, 'OPERATOR_KEY_INVALID', /in OPERATOR_KEY$/],
    ['account list', { DATA_DIR: '/nowhere' }, FAILED, 'OPERATOR_KEY_MISSING', /^there is no operator key/],
    ['account list', { GRPC_PORT: 'x' }, FAILED, 'INVALID_SETTING', /^GRPC_PORT must be/],
    [`account list --address ${publicAddress}`, {}, FAILED, 'NO_ADMIN_SERVICE', /^there is no admin service/],
  ] as const;
  for (const [line, env, exitCode, code, message] of cases) {
    const outcome = await command([...line.split(' ').filter(Boolean), '--json'], { DATA_DIR: config.dataDir, ...env });
    t.deepEqual([outcome.exitCode, outcome.stdout], [exitCode, ''], line);
    const actual = JSON.parse(outcome.stderr);
    t.deepEqual(Object.keys(actual), ['code', 'message']);
    t.is(actual.code, code);
    if (typeof message === 'string') t.is(actual.message, message);
    else t.regex(actual.message, message);
  }
});

test('server - a server that does not respond is named after ten seconds', async (t) => {
  const mute = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => mute.once('listening', resolve));
  t.teardown(() => mute.close());
  const address = `127.0.0.1:${(mute.address() as AddressInfo).port}`;
  t.is(
    await errorLine(t.context.command, `account list --address ${address}`),
    `the server at ${address} did not answer in time`,
  );
});

test('no server - the error names the address and says how to start the service', async (t) => {
  const actual = await errorLine(t.context.command, 'account list', { GRPC_PORT: '1' });
  t.true(actual.startsWith('nothing answers at 127.0.0.1:1: start the service with "npm start", or name another '));
});

test('public port - the error says that the admin service is on the private port', async (t) => {
  const { command, publicAddress } = t.context;
  const actual = await errorLine(command, `account list --address ${publicAddress}`);
  t.is(
    actual,
    `there is no admin service at ${publicAddress}: it is on the private gRPC port (GRPC_PORT), not on the public one`,
  );
});

test('operator key - a wrong key is named by its source and never shown', async (t) => {
  const { command, config, grpcAddress } = t.context;
  const key = generateKey('pso');
  const actual = await errorLine(command, 'account list', { OPERATOR_KEY: key });
  t.is(actual, `the server at ${grpcAddress} does not accept the key in OPERATOR_KEY`);
  const dataDir = join(config.dataDir, 'wrong');
  await mkdir(dataDir);
  await writeFile(join(dataDir, 'operator.key'), `${key}\n`);
  t.is(
    await errorLine(command, 'account list', { DATA_DIR: dataDir }),
    `the server at ${grpcAddress} does not accept the key in ${dataDir}/operator.key`,
  );
  await writeFile(join(dataDir, 'operator.key'), 'not a key\n');
  t.is(
    await errorLine(command, 'account list', { DATA_DIR: dataDir }),
    `there is no operator key in ${dataDir}/operator.key, or it is damaged`,
  );
});

test('operator key - the error for a missing key says where it should be', async (t) => {
  const actual = await errorLine(t.context.command, 'account list', { DATA_DIR: '/nowhere' });
  t.is(
    actual,
    'there is no operator key: the service creates /nowhere/operator.key when it first starts; or set OPERATOR_KEY',
  );
});

test('settings - a bad setting ends with one line', async (t) => {
  t.is(
    await errorLine(t.context.command, 'account list', { GRPC_PORT: 'x' }),
    'GRPC_PORT must be a port from 1 to 65535, not "x"',
  );
});

test('petstore - shows its help without a command, and exits with code 2', async (t) => {
  for (const args of [[], ['account'], ['key'], ['ban']]) {
    const { exitCode, stdout, stderr } = await t.context.command(args);
    t.deepEqual([exitCode, stdout], [USAGE, '']);
    t.regex(stderr, /^Usage: petstore /);
  }
});
