/** Mistakes and failures: one line on standard error, or JSON with a code, and the exit code. */
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http2';
import { generateKey } from '../../src/platform/access/keys/format.ts';
import { listen } from '../support/scope.ts';
import type { Settings } from '../support/service/process.ts';
import { sharing, type TestOf } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';
import { MAIN, petstore, run } from './command.ts';

const test = sharing(undefined, async (t) => {
  const stack = await startTestStack(t);
  const settings = { GRPC_PORT: String(stack.config.grpcPort), DATA_DIR: stack.config.dataDir };
  return { ...stack, settings, command: petstore(settings) };
});
const [FAILED, USAGE] = [1, 2];

/** The command must fail with one line on stderr, and with the same message in JSON. */
async function fails(
  t: TestOf<typeof test>,
  args: readonly string[],
  [exitCode, code]: readonly [number, string],
  message: string | RegExp,
  env?: Settings,
): Promise<void> {
  const [plain, inJson] = [await t.context.command(args, env), await t.context.command([...args, '--json'], env)];
  const line = /^petstore: ([^\n]+)\n$/.exec(plain.stderr)?.[1] ?? '';
  for (const one of [plain, inJson]) t.like(one, { exitCode, stdout: '' }, plain.stderr);
  t.deepEqual(JSON.parse(inJson.stderr), { code, message: line });
  if (typeof message === 'string') t.is(line, message);
  else t.regex(line, message);
}

const ARGUMENTS: Readonly<Record<string, string | RegExp>> = {
  'acount list': "unknown command 'acount' (Did you mean account?)",
  'account show abc':
    /^command-argument value 'abc' is invalid for argument 'id'. It must be a whole number from 0 to 9\d{18}\.$/,
  'account set 1': 'say what to set: --plan, --per-minute or --per-day',
  'account set 1 --per-minute x':
    "option '--per-minute <count>' argument 'x' is invalid. It must be a whole number from 1 to 2147483647.",
  'key create --account 1 --expires soon':
    /'soon' is invalid. It must be a date such as 2027-01-31 or 2027-01-31T12:00:00Z.$/,
  'key create --account 1 --expires 2027-02-30': /It must be a date/,
  'key create --account 1 --expires 2027-01-31T12:00:00': /It must be a date/, // no time zone
  'key create --account 1 --permission all': /'all' is invalid. Allowed choices are read, write\.$/,
  'key rotate 1 --overlap 1y': /It must be 0, or a number with s, m, h or d behind it, such as 24h\.$/,
  'key revoke pst_abc': 'a number is needed, as "petstore key list" shows it, not a key',
  'account list --address http://localhost': /It must be HOST:PORT, such as 127\.0\.0\.1:50051\.$/,
};

test('arguments - an error is one line that names the mistake, with exit code 2', async (t) => {
  for (const [line, message] of Object.entries(ARGUMENTS)) await fails(t, line.split(' '), [USAGE, 'USAGE'], message);
});

test("refusals - print the server's message on one line, with exit code 1", async (t) => {
  for (const [line, code, message] of [
    ['account show 999', 'ACCOUNT_NOT_FOUND', 'account 999 does not exist'],
    ['key revoke 999', 'API_KEY_NOT_FOUND', 'API key 999 does not exist'],
  ] as const)
    await fails(t, line.split(' '), [FAILED, code], message);
});

const VALUES: Readonly<Record<string, string | RegExp>> = {
  'account create --name X --plan enterprise':
    'perMinute: is needed for an enterprise account; perDay: is needed for an enterprise account',
  'account create --name X --plan free --per-minute 4':
    'perMinute: is for enterprise accounts: the free plan has its own limits',
  'account create --name \u00a0 --plan free': 'name: must be 1 to 200 characters after trimming',
  'key create --account 1 --expires 2020-01-01': 'expireTime: must be greater than now',
  'key create --account 1 --expires 9999-12-31T23:59:59-01:00': /^expireTime: must be .* 9999-12-31T23:59:59/,
  'key rotate 1 --overlap 366d': /^overlapSeconds: must be .* 31536000$/,
  'usage --account 1 --days 401': /^days: must be /,
};

test('values - one that the server refuses is named by its field, with exit code 2', async (t) => {
  for (const [line, message] of Object.entries(VALUES)) {
    await fails(t, line.split(' '), [USAGE, 'INVALID_ARGUMENT'], message);
  }
});

test('server - one that is away, refuses the key, or is another, is named with what to do', async (t) => {
  const { config, grpcAddress, publicAddress } = t.context;
  const [wrong, damaged] = [`${config.dataDir}/wrong`, `${config.dataDir}/damaged`];
  for (const folder of [wrong, damaged]) await mkdir(folder);
  await writeFile(`${wrong}/operator.key`, `${generateKey('operator')}\n`);
  await writeFile(`${damaged}/operator.key`, 'not a key\n');
  const away = /^nothing answers at 127\.0\.0\.1:1: start the service with "npm start", or name another --address/;
  const advice = 'it is on the private gRPC port (GRPC_PORT), not on the public one';
  const noAdmin = `there is no admin service at ${publicAddress}: ${advice}`;
  const refused = (key: string) =>
    `the server at ${grpcAddress} does not accept the key in ${key}: name its server with --address`;
  const unread = (folder: string) =>
    `no operator key can be read from ${folder}/operator.key: ` +
    'the service creates it when it first starts; or set OPERATOR_KEY';
  const cases: readonly (readonly [string, string | RegExp, Settings, string?])[] = [
    ['SERVER_AWAY', away, { GRPC_PORT: '1' }],
    ['NO_ADMIN_SERVICE', noAdmin, {}, `--address=${publicAddress}`],
    ['OPERATOR_KEY_INVALID', refused('OPERATOR_KEY'), { OPERATOR_KEY: generateKey('operator') }],
    ['OPERATOR_KEY_INVALID', refused(`${wrong}/operator.key`), { DATA_DIR: wrong }],
    ['OPERATOR_KEY_MISSING', unread(damaged), { DATA_DIR: damaged }],
    ['OPERATOR_KEY_MISSING', unread('/nowhere'), { DATA_DIR: '/nowhere' }],
    ['INVALID_SETTING', 'GRPC_PORT must be a port from 1 to 65535, not "x"', { GRPC_PORT: 'x' }],
  ];
  for (const [code, message, env, ...more] of cases) {
    await fails(t, ['account', 'list', ...more.flatMap((one) => one ?? [])], [FAILED, code], message, env);
  }
});

test('help - says of each command and option what it does', async (t) => {
  const walk = async (...path: readonly string[]): Promise<void> => {
    const { exitCode, stdout } = await t.context.command([...path, '--help']);
    const [, options = '', commands = ''] =
      /^Options:\n(.+?)\n\n(?:.*?^Commands:\n(.+?)\n\n)?/ms.exec(`${stdout}\n`) ?? [];
    t.deepEqual([exitCode, options === ''], [0, false]);
    for (const line of `${options}\n${commands}`.split('\n'))
      t.regex(line, /^ {2,}\S.* {2}\S|^ {10}|^$/, path.join(' '));
    for (const [, name = ''] of commands.matchAll(/^ {2}(\w+)/gm)) await walk(...path, name);
  };
  await walk();
});

test('output - that can not be written is a failure on one line, with exit code 1', async (t) => {
  const list = (more: string) =>
    run('/bin/sh', ['-c', `"${process.execPath}" "${MAIN}" account list ${more} > /dev/full`], t.context.settings);
  const [plain, inJson] = [await list(''), await list('--json')];
  t.deepEqual([plain.exitCode, inJson.exitCode], [FAILED, FAILED]);
  const message = /^petstore: (the output can't be written: ENOSPC[^\n]*)\n$/.exec(plain.stderr)?.[1];
  t.deepEqual(JSON.parse(inJson.stderr), { code: 'OUTPUT_FAILED', message });
});

test('server - one that does not respond is named after ten seconds', async (t) => {
  const mute = createServer();
  const address = await listen(t, mute);
  const { stderr } = await t.context.command(['account', 'list', '--address', address]);
  t.is(stderr, `petstore: the server at ${address} did not respond in time\n`);
});
