import { readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { Plan } from '../../gen/petstore/admin/v1/admin.ts';
import { isWellFormed } from '../../src/access/keys/format.ts';
import { withinOneDay } from '../support/limit-windows.ts';
import { connectOperator } from '../support/operator.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { json, type Petstore, petstore, ROOT, run } from './command.ts';

const test = anyTest as TestFn<TestStack & { command: Petstore }>;

test.before(async (t) => {
  const stack = await startTestStack();
  t.context = { ...stack, command: petstore(stack) };
});
test.after.always((t) => t.context.close());

const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/;

function newAccount(command: Petstore, ...args: string[]) {
  return json(command, 'account', 'create', '--name', 'Acme', ...(args.length === 0 ? ['--plan', 'pro'] : args));
}

/** Returns the output of a command without --json. */
async function text(command: Petstore, ...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await command(args);
  if (exitCode !== 0 || stderr !== '') throw new Error(`petstore ${args.join(' ')}: exit ${exitCode}, ${stderr}`);
  return stdout;
}

test('account create - prints the account: ids are numbers, plans lower case, times RFC 3339', async (t) => {
  const account = await newAccount(t.context.command);
  t.is(typeof account.id, 'number');
  t.regex(account.createTime, RFC_3339);
  const { id, createTime } = account;
  const limits = { perMinute: 300, perDay: 10_000 };
  t.deepEqual(account, { id, name: 'Acme', plan: 'pro', ...limits, suspended: false, createTime });
});

test('account create - an enterprise account has the given limits', async (t) => {
  const args = ['--plan', 'enterprise', '--per-minute', '7', '--per-day', '70'];
  const { plan, perMinute, perDay } = await newAccount(t.context.command, ...args);
  t.deepEqual({ plan, perMinute, perDay }, { plan: 'enterprise', perMinute: 7, perDay: 70 });
});

test('account show, set, suspend, resume - print the current account', async (t) => {
  const { command } = t.context;
  const account = await newAccount(command);
  const id = String(account.id);
  t.like(await json(command, 'account', 'show', id), account);
  const agreed = { plan: 'enterprise', perMinute: 5, perDay: 50 };
  const set = await json(command, 'account', 'set', id, '--plan', 'enterprise', '--per-minute', '5', '--per-day', '50');
  t.deepEqual(set, { ...account, ...agreed });
  t.deepEqual(await json(command, 'account', 'set', id, '--per-day', '60'), { ...set, perDay: 60 });
  t.true((await json(command, 'account', 'suspend', id)).suspended);
  t.false((await json(command, 'account', 'resume', id)).suspended);
});

test('account show - prints a card without --json', async (t) => {
  const { command } = t.context;
  const { id } = await newAccount(command);
  const shown = await text(command, 'account', 'show', String(id));
  t.is(
    shown.replaceAll(/\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}Z/g, '(time)'),
    `id          ${id}
name        Acme
plan        pro
per minute  300
per day     10,000
state       active
created     (time)
last use    never

WINDOW   LIMIT  USED    LEFT  RESETS AT
minute     300     0     300  (time)
day     10,000     0  10,000  (time)

Refused today: 0
`,
  );
});

test('account list, key list - print the rows of all pages', async (t) => {
  const stack = await startTestStack();
  try {
    const command = petstore(stack);
    const operator = await connectOperator(stack);
    const { id } = await operator.account(Plan.PLAN_FREE);
    for (let i = 0; i < 120; i += 1) {
      await operator.account(Plan.PLAN_FREE);
      await operator.key(id);
    }
    operator.close();
    const accounts = await json(command, 'account', 'list');
    t.is(accounts.length, 122); // including the demo account
    t.is(new Set(accounts.map((account: { id: number }) => account.id)).size, 122);
    t.is((await json(command, 'key', 'list', '--account', String(id))).length, 120);
  } finally {
    await stack.close();
  }
});

test('account list - prints an aligned table without --json', async (t) => {
  const { command } = t.context;
  await newAccount(command);
  const [titles = '', ...rows] = (await text(command, 'account', 'list')).trimEnd().split('\n');
  t.deepEqual(titles.trim().split(/ {2,}/), ['ID', 'NAME', 'PLAN', 'PER MINUTE', 'PER DAY', 'STATE', 'CREATED']);
  const column = titles.indexOf('STATE');
  for (const row of rows) t.regex(row.slice(column), /^(active|suspended) +\d{4}-/);
});

test('key create - prints the key once; key list never prints it', async (t) => {
  const { command } = t.context;
  const account = String((await newAccount(command)).id);
  const args = ['--account', account, '--label', 'laptop', '--expires', '2099-12-31'];
  const created = await json(command, 'key', 'create', ...args);
  const { id, key, createTime, ...rest } = created;
  t.is(typeof id, 'number');
  t.true(isWellFormed(key));
  t.regex(createTime, RFC_3339);
  const expireTime = '2099-12-31T00:00:00.000Z';
  t.deepEqual(rest, { accountId: Number(account), prefix: key.slice(0, 12), label: 'laptop', expireTime });
  t.deepEqual(await json(command, 'key', 'list', '--account', account), [{ id, ...rest, createTime }]);
  t.is((await t.context.rest.withKey(key).get('/pets')).status, 200);
});

test('key create - warns that the key is shown only once', async (t) => {
  const { command } = t.context;
  const shown = await text(command, 'key', 'create', '--account', String((await newAccount(command)).id));
  t.regex(
    shown,
    /\n\npst_[0-9A-Za-z]{38}\n\nThis is the only time that the key is shown: keep it in a safe place\.\n$/,
  );
});

test('key revoke - a revoked key is refused with 401', async (t) => {
  const { command, rest } = t.context;
  const account = String((await newAccount(command)).id);
  const { id, key } = await json(command, 'key', 'create', '--account', account);
  t.is((await rest.withKey(key).get('/pets')).status, 200);
  t.regex((await json(command, 'key', 'revoke', String(id))).revokeTime, RFC_3339);
  t.is((await rest.withKey(key).get('/pets')).status, 401);
  t.regex(
    await text(command, 'key', 'list', '--account', account),
    /\n +\d+ {2}pst_\w{8} +revoked +\d{4}-\d{2}-\d{2} {2}\d{4}-\d{2}-\d{2} \d{2}:\d{2}Z {2}never\n$/,
  );
});

test('key list - control characters in a label are replaced', async (t) => {
  const { command } = t.context;
  const account = String((await newAccount(command)).id);
  await json(command, 'key', 'create', '--account', account, '--label', 'a\nb\u001b[2Jc');
  t.regex(await text(command, 'key', 'list', '--account', account), / a\ufffdb\ufffd\[2Jc /);
});

test('usage - counts requests and refusals per day', async (t) => {
  await withinOneDay(30_000);
  const { command, rest } = t.context;
  const account = String((await newAccount(command, '--plan', 'enterprise', '--per-minute', '9', '--per-day', '2')).id);
  t.deepEqual(await json(command, 'usage', '--account', account), []);
  t.is(await text(command, 'usage', '--account', account), `Account ${account} made no request in that time.\n`);
  const { key } = await json(command, 'key', 'create', '--account', account);
  for (let i = 0; i < 3; i += 1) await rest.withKey(key).get('/pets');
  const [today] = await json(command, 'usage', '--account', account, '--days', '2');
  t.deepEqual(today, { day: today.day, requests: 2, refused: 1 });
  t.regex(today.day, /^\d{4}-\d{2}-\d{2}$/);
  t.is(
    await text(command, 'usage', '--account', account),
    `DAY         REQUESTS  REFUSED\n${today.day}         2        1\nTOTAL              2        1\n`,
  );
});

test('petstore - every level and every command has help', async (t) => {
  const levels = ['', 'account', 'key', 'ban', 'usage'].map((level) => level.split(' ').filter(Boolean));
  const account = ['create', 'list', 'show', 'set', 'suspend', 'resume'].map((name) => ['account', name]);
  const key = ['create', 'list', 'revoke', 'unban'].map((name) => ['key', name]);
  for (const path of [...levels, ...account, ...key, ['ban', 'list']]) {
    const { exitCode, stdout, stderr } = await t.context.command([...path, '--help']);
    t.deepEqual([exitCode, stderr], [0, '']);
    t.true(stdout.startsWith(`Usage: ${['petstore', ...path].join(' ')} `), stdout);
    t.true(stdout.includes('--json') && stdout.includes('--address'));
    t.true(
      stdout.split('\n').every((line) => line.length <= 80),
      stdout,
    );
  }
});

test('petstore - --version prints the version of the package', async (t) => {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  t.deepEqual(await t.context.command(['--version']), { exitCode: 0, stdout: `petstore ${version}\n`, stderr: '' });
});

test('petstore - options may stand anywhere; --address and OPERATOR_KEY override the defaults', async (t) => {
  const { command, config } = t.context;
  const key = 'an operator key of my own';
  t.is((await command(['--json', '--address', `127.0.0.1:${config.grpcPort}`, 'account', 'list'])).exitCode, 0);
  t.is(
    (await command(['account', 'list', '--address', `localhost:${config.grpcPort}`], { GRPC_PORT: '1' })).exitCode,
    0,
  );
  t.is((await command(['account', 'list'], { OPERATOR_KEY: key.replaceAll(' ', '-') })).exitCode, 1);
});

test('petstore - runs as an npm script, and through a symlink in another folder', async (t) => {
  const { config } = t.context;
  const env = { GRPC_PORT: String(config.grpcPort), DATA_DIR: config.dataDir };
  const args = ['account', 'list', '--json'];
  const script = await run('npm', ['run', '-s', 'petstore', '--', ...args], env);
  t.is(JSON.parse(script.stdout)[0].name, 'Demo');
  const link = join(config.dataDir, 'petstore');
  await symlink(join(ROOT, 'bin/petstore'), link);
  // PATH has no Node: the command brings its own.
  const linked = await run(link, args, { ...env, PATH: '/usr/bin:/bin' });
  // Other tests create accounts meanwhile.
  t.deepEqual(JSON.parse(linked.stdout)[0], JSON.parse(script.stdout)[0]);
});
