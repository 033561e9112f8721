/** Bans, remaining requests and times of last use, in tables and in JSON. */
import anyTest, { type TestFn } from 'ava';
import { withinOneDay } from '../support/limit-windows.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { json, type Petstore, petstore } from './command.ts';

const REFUSALS = 5;
const PER_DAY = 3;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const MOMENT = String.raw`\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}Z`;

type Context = TestStack & { command: Petstore };
const test = anyTest as TestFn<Context>;

test.before(async (t) => {
  const stack = await startTestStack({ BAN_REFUSALS: `${REFUSALS}` });
  t.context = { ...stack, command: petstore(stack) };
});
test.beforeEach(() => withinOneDay(60_000));
test.after.always((t) => t.context.close());

async function text(command: Petstore, args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await command(args);
  if (exitCode !== 0 || stderr !== '') throw new Error(`petstore ${args.join(' ')}: exit ${exitCode}, ${stderr}`);
  return stdout.trimEnd();
}

/** Creates a key of a new account. Its limit is per day, because a minute may end during a test. */
async function newKey(command: Petstore) {
  const limits = ['--plan', 'enterprise', '--per-minute', '100', '--per-day', `${PER_DAY}`];
  const account = String((await json(command, 'account', 'create', '--name', 'Acme', ...limits)).id);
  const { id, key, prefix } = await json(command, 'key', 'create', '--account', account, '--label', 'till');
  return { account, id: String(id), key, prefix };
}

async function bannedKey({ command, rest }: Context) {
  const made = await newKey(command);
  const caller = rest.withKey(made.key);
  for (let i = 0; i < PER_DAY + REFUSALS; i += 1) await caller.get('/pets');
  return { ...made, caller };
}

test.serial('ban list - says that no key is banned', async (t) => {
  const { command } = t.context;
  t.is(await text(command, ['ban', 'list']), 'No key is banned.');
  t.deepEqual(await json(command, 'ban', 'list'), []);
  t.is(await text(command, ['ban', 'list', '--account', '1']), 'No key of account 1 is banned.');
});

test('ban list - shows the key, its account, the reason, the start and the end', async (t) => {
  const { command } = t.context;
  const { account, id, prefix } = await bannedKey(t.context);
  const [{ startTime, endTime, ...ban }] = await json(command, 'ban', 'list', '--account', account);
  const who = { keyId: Number(id), prefix, label: 'till', accountId: Number(account), accountName: 'Acme' };
  t.deepEqual(ban, { ...who, refusals: REFUSALS, window: 'day' });
  t.regex(startTime, TIME);
  t.is(Date.parse(endTime) - Date.parse(startTime), 300_000);
  const [titles = '', row = '', ...more] = (await text(command, ['ban', 'list', '--account', account])).split('\n');
  t.deepEqual(titles.trim().split(/ {2,}/), ['KEY', 'BEGINS WITH', 'ACCOUNT', 'REFUSED', 'LIMIT', 'SINCE', 'UNTIL']);
  t.regex(
    row,
    new RegExp(` *${id}  ${prefix}  ${account} Acme +5  day +${MOMENT}  (\\d{4}-\\d{2}-\\d{2} )?[\\d:]{8}Z$`),
  );
  t.deepEqual(more, []);
  t.true(row.length <= 100);
});

test('key list - shows the last use of each key, its ban, and how to end the ban', async (t) => {
  const { command } = t.context;
  const { account, id } = await bannedKey(t.context);
  await json(command, 'key', 'create', '--account', account);
  const [used, unused] = await json(command, 'key', 'list', '--account', account);
  t.regex(used.lastUseTime, TIME);
  t.like(used.ban, { refusals: REFUSALS, window: 'day' });
  t.false('lastUseTime' in unused || 'ban' in unused);
  const [titles = '', first = '', second = '', ...rest] = (
    await text(command, ['key', 'list', '--account', account])
  ).split('\n');
  t.deepEqual(titles.trim().split(/ {2,}/), [
    ...['ID', 'BEGINS WITH', 'LABEL', 'STATE', 'CREATED', 'LAST USE', 'EXPIRES'],
  ]);
  t.regex(first, / till +banned +\d{4}-\d{2}-\d{2} {2}\d{4}-\d{2}-\d{2} \d{2}:\d{2}Z {2}never$/);
  t.regex(second, / active +\d{4}-\d{2}-\d{2} {2}never +never$/);
  t.is(rest[0], '');
  t.regex(
    rest[1] ?? '',
    new RegExp(`^Key ${id} is banned until ${MOMENT}, for 5 requests beyond the limit per day\\.$`),
  );
  t.is(rest[2], `To end the ban: petstore key unban ${id}`);
  t.true([titles, first, second, ...rest].every((line) => line.length <= 100));
});

test('account show - shows what is left in both windows, the last use and the bans', async (t) => {
  const { command } = t.context;
  const { account, id } = await bannedKey(t.context);
  const shown = await json(command, 'account', 'show', account);
  t.like(shown, { day: { limit: PER_DAY, used: PER_DAY, left: 0 }, refusedToday: REFUSALS, local: false });
  t.like(shown.minute, { limit: 100 });
  t.regex(shown.lastUseTime, TIME);
  t.regex(shown.day.resetTime, /T00:00:00\.000Z$/);
  t.deepEqual(
    shown.bans.map(({ keyId }: { keyId: number }) => keyId),
    [Number(id)],
  );
  const card = await text(command, ['account', 'show', account]);
  t.regex(
    card,
    new RegExp(
      `\\nlast use +${MOMENT}\\n\\nWINDOW +LIMIT +USED +LEFT +RESETS AT\\nminute +100 +\\d+ +\\d+ +${MOMENT}\\n`,
    ),
  );
  t.regex(card, /\nday +3 +3 +0 +\d{4}-\d{2}-\d{2} 00:00:00Z\n\nRefused today: 5\n/);
  t.regex(
    card,
    new RegExp(
      `\\n\\nKey ${id} is banned until ${MOMENT}, for 5 requests beyond the limit per day\\.\\nTo end the ban`,
    ),
  );
});

test('account show - does not count as a request', async (t) => {
  const { command } = t.context;
  const { account } = await newKey(command);
  for (let i = 0; i < 3; i += 1) {
    t.like(await json(command, 'account', 'show', account), { day: { used: 0, left: PER_DAY }, refusedToday: 0 });
  }
});

test('key unban - the key works at once; the next refusal does not ban it again', async (t) => {
  const { command } = t.context;
  const { account, id, caller } = await bannedKey(t.context);
  t.is((await caller.get('/pets')).body.code, 'API_KEY_BANNED');
  t.regex(
    await text(command, ['key', 'unban', id]),
    new RegExp(
      `^Key ${id} is no longer banned\\. The ban would have lasted until ${MOMENT}\\. ` +
        'Its refusals count from zero again\\.$',
    ),
  );
  t.deepEqual(await json(command, 'ban', 'list', '--account', account), []);
  for (let i = 0; i < 2; i += 1) t.is((await caller.get('/pets')).body.code, 'RATE_LIMITED');
  await json(command, 'account', 'set', account, '--per-day', '1000');
  t.is((await caller.get('/pets')).status, 200);
  t.is(await text(command, ['key', 'unban', id]), `Key ${id} was not banned. Its refusals count from zero again.`);
  t.false('ended' in (await json(command, 'key', 'unban', id)));
});

test('key unban - prints the ended ban in JSON', async (t) => {
  const { command } = t.context;
  const { account, id } = await bannedKey(t.context);
  const { ended, ...key } = await json(command, 'key', 'unban', id);
  t.like(key, { id: Number(id), accountId: Number(account), label: 'till' });
  t.like(ended, { refusals: REFUSALS, window: 'day' });
  t.regex(ended.endTime, TIME);
});

test('key unban - a revoked key stays revoked', async (t) => {
  const { command } = t.context;
  const { account, id, caller } = await bannedKey(t.context);
  await json(command, 'key', 'revoke', id);
  t.regex(await text(command, ['key', 'list', '--account', account]), /^ID .+\n.+ revoked [^\n]+$/);
  await json(command, 'key', 'unban', id);
  t.is((await caller.get('/pets')).status, 401);
});
