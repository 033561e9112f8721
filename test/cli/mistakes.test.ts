import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { generateKey } from '../../src/keys/format.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { type Petstore, petstore } from './command.ts';

const test = anyTest as TestFn<TestStack & { command: Petstore }>;

test.before(async (t) => {
  const stack = await startTestStack();
  t.context = { ...stack, command: petstore(stack) };
});
test.after.always((t) => t.context.close());

/** Runs the command, which must fail with exit code 1 and one line on stderr, and answers the line. */
async function complaint(command: Petstore, line: string, env?: Readonly<Record<string, string>>): Promise<string> {
  const { exitCode, stdout, stderr } = await command(line === '' ? [] : line.split(' '), env);
  const isOneLine = /^petstore: [^\n]+\n$/.test(stderr);
  if (exitCode === 1 && stdout === '' && isOneLine) return stderr.slice('petstore: '.length, -1);
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
  'key create --account 1 --expires 2027-01-31T12:00:00': /^--expires must be a date/, // in which zone?
  'usage --account 1 --days x': /^--days must be a whole number/,
  'account list --address http://localhost': /^--address must be HOST:PORT/,
};

test('arguments - a mistake is one line that names it', async (t) => {
  for (const [line, expected] of Object.entries(ARGUMENTS)) {
    const said = await complaint(t.context.command, line);
    if (typeof expected === 'string') t.is(said, expected);
    else t.regex(said, expected);
  }
});

const REFUSALS: Readonly<Record<string, RegExp>> = {
  'account show 999': /^account 999 does not exist$/,
  'key create --account 999': /^account 999 does not exist$/,
  'key list --account 999': /^account 999 does not exist$/,
  'usage --account 999': /^account 999 does not exist$/,
  'key revoke 999': /^API key 999 does not exist$/,
  'account create --name X --plan enterprise': /^perMinute: .+; perDay: /,
  'account create --name X --plan free --per-minute 4': /^perMinute: /,
  'key create --account 1 --expires 2020-01-01': /^expireTime: must be greater than now$/,
  'usage --account 1 --days 401': /^days: must be /,
};

test("refusals - the server's message, in one line", async (t) => {
  for (const [line, expected] of Object.entries(REFUSALS)) t.regex(await complaint(t.context.command, line), expected);
});

test('no server - says at which address, and how to start it', async (t) => {
  const said = await complaint(t.context.command, 'account list', { GRPC_PORT: '1' });
  t.is(said, 'nothing answers at 127.0.0.1:1: start the service with "npm start", or name another --address');
});

test('the public port - says that the admin service is on the private one', async (t) => {
  const { command, publicAddress } = t.context;
  const said = await complaint(command, `account list --address ${publicAddress}`);
  t.is(
    said,
    `there is no admin service at ${publicAddress}: it is on the private gRPC port (GRPC_PORT), not on the public one`,
  );
});

test('operator key - a wrong one is named by where it came from, never shown', async (t) => {
  const { command, config, grpcAddress } = t.context;
  const key = generateKey('pso');
  const said = await complaint(command, 'account list', { OPERATOR_KEY: key });
  t.is(said, `the server at ${grpcAddress} does not accept the key in OPERATOR_KEY`);
  const dataDir = join(config.dataDir, 'wrong');
  await mkdir(dataDir);
  await writeFile(join(dataDir, 'operator.key'), `${key}\n`);
  t.is(
    await complaint(command, 'account list', { DATA_DIR: dataDir }),
    `the server at ${grpcAddress} does not accept the key in ${dataDir}/operator.key`,
  );
  await writeFile(join(dataDir, 'operator.key'), 'not a key\n');
  t.is(
    await complaint(command, 'account list', { DATA_DIR: dataDir }),
    `there is no operator key in ${dataDir}/operator.key, or it is damaged`,
  );
});

test('operator key - none at all says where it should be', async (t) => {
  const said = await complaint(t.context.command, 'account list', { DATA_DIR: '/nowhere' });
  t.is(
    said,
    'there is no operator key: /nowhere/operator.key is made when the service first starts; or set OPERATOR_KEY',
  );
});

test('settings - a bad one is one line', async (t) => {
  t.is(
    await complaint(t.context.command, 'account list', { GRPC_PORT: 'x' }),
    'GRPC_PORT must be a port from 1 to 65535, not "x"',
  );
});

test('petstore - without a command shows its help, and has done nothing', async (t) => {
  for (const args of [[], ['account'], ['key']]) {
    const { exitCode, stdout, stderr } = await t.context.command(args);
    t.deepEqual([exitCode, stdout], [1, '']);
    t.regex(stderr, /^Usage: petstore /);
  }
});
