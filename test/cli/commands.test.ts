/** What the commands print as JSON, and texts that no session of the docs shows (test/docs), on a real server. */
import { symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Plan } from '../../gen/apiplatform/admin/v1/admin.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { isWellFormed } from '../../src/platform/access/keys/format.ts';
import { dayIndexAt } from '../../src/platform/access/limits/windows.ts';
import { ROOT } from '../../src/platform/launcher/paths.ts';
import { toAccountId } from '../../src/platform/rpc/caller.ts';
import { makeCertificates, noOpenssl } from '../support/machine/tls.ts';
import { freePorts, temporaryFolder } from '../support/scope.ts';
import { TestProcess } from '../support/service/process.ts';
import { startTestServer } from '../support/service/server.ts';
import { sharing, testUnless } from '../support/service/sharing.ts';
import { withinOneDay } from '../support/until.ts';
import { json, type Petstore, petstore, run, text } from './command.ts';

const REFUSALS = 5;
const PER_DAY = 3;

const test = sharing(undefined, async (t) => {
  const server = await startTestServer(t, { BAN_REFUSALS: `${REFUSALS}`, BAN_GRACE_SECONDS: '0' });
  const settings = { GRPC_PORT: server.address.replace(/^.*:/, ''), DATA_DIR: dirname(server.database.file) };
  return { ...server, settings, command: petstore(settings) };
});
test.beforeEach(() => withinOneDay(60_000));

const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

async function newAccount(command: Petstore): Promise<number> {
  return (await json(command, 'account create --name Acme --plan pro')).id;
}

test('account - create, show, set, suspend and resume print it: ids are numbers, times RFC 3339', async (t) => {
  const { command } = t.context;
  const created = await json(command, 'account create --name \u2003Acme --plan pro');
  const { id, createTime } = created;
  const limits = { perMinute: 300, perDay: 10_000 };
  t.deepEqual(created, { id, name: 'Acme', plan: 'pro', ...limits, suspended: false, createTime });
  t.is(typeof id, 'number');
  t.regex(createTime, RFC_3339);
  for (let i = 0; i < 2; i += 1) t.like(await json(command, `account show ${id}`), { ...created, day: { used: 0 } });
  const agreed = { ...created, plan: 'enterprise', perMinute: 5, perDay: 50 };
  t.deepEqual(await json(command, `account set ${id} --plan enterprise --per-minute 5 --per-day 50`), agreed);
  t.deepEqual(await json(command, `account set ${id} --per-day 60`), { ...agreed, perDay: 60 });
  t.deepEqual(await json(command, `account set ${id} --plan pro`), created);
  t.true((await json(command, `account suspend ${id}`)).suspended);
  t.false((await json(command, `account resume ${id}`)).suspended);
});

test('account list, key list - print the rows of all pages', async (t) => {
  const { command, operator } = t.context;
  const { id } = await operator.account(Plan.PLAN_FREE);
  t.is(await text(command, `key list --account ${id}`), `Account ${id} has no key.`);
  for (let i = 0; i < 120; i += 1) await Promise.all([operator.account(Plan.PLAN_FREE), operator.key(id)]);
  const accounts: { id: number }[] = await json(command, 'account list');
  t.true(accounts.length > 120);
  t.is(new Set(accounts.map((account) => account.id)).size, accounts.length);
  t.is((await json(command, `key list --account ${id}`)).length, 120);
});

test('key - create prints it once, list never; a revoked one is refused, others of the account are not', async (t) => {
  const { command, grpc, operator } = t.context;
  const accountId = await newAccount(command);
  const expireTime = '2099-12-31T00:00:00.012Z';
  const created = await json(command, `key create --account ${accountId} --label laptop --expires ${expireTime}`);
  const { id, key, createTime, ...others } = created;
  t.is(typeof id, 'number');
  t.true(isWellFormed(key));
  t.regex(createTime, RFC_3339);
  t.deepEqual(others, { accountId, prefix: key.slice(0, 12), label: 'laptop', permission: 'write', expireTime });
  t.deepEqual(await json(command, `key list --account ${accountId}`), [{ id, ...others, createTime }]);
  const caller = grpc.withKey(key);
  const other = grpc.withKey((await operator.key(BigInt(accountId))).key);
  for (const one of [caller, other]) await t.notThrowsAsync(one.call(Pets.listPets, {}));
  const { revokeTime } = await json(command, `key revoke ${id}`);
  t.regex(revokeTime, RFC_3339);
  t.is((await json(command, `key revoke ${id}`)).revokeTime, revokeTime, 'it has been revoked before');
  await json(command, `key unban ${id}`);
  t.is((await caller.failure(Pets.listPets, {})).reason, 'API_KEY_INVALID');
  await t.notThrowsAsync(other.call(Pets.listPets, {}));
  t.regex(await text(command, `key list --account ${accountId}`), /EXPIRES +REVOKED\n.* laptop +write +revoked /);
});

test('key - a list says which key replaced which, and which of them end or have expired', async (t) => {
  const { command } = t.context;
  const accountId = await newAccount(command);
  const { id } = await json(command, `key create --account ${accountId} --permission read`);
  await command(`key rotate ${id} --overlap 90m`.split(' '));
  const list = await text(command, `key list --account ${accountId}`);
  t.regex(list, new RegExp(`${id} .* read +replaced .*\n.* read +active .* ${id}$`));
  const { key, replaces, replaced } = await json(command, `key rotate ${id} --overlap 0`);
  t.true(isWellFormed(key));
  t.deepEqual([replaces, replaced.id], [id, id]);
  t.regex(await text(command, `key list --account ${accountId}`), new RegExp(`${id} .* read +expired `));
});

test('key list - control characters in a label are replaced, those of direction too; in JSON escaped', async (t) => {
  const { command, store } = t.context;
  const id = await newAccount(command);
  const label = 'a\nb\u001b[2J\u009bc\u202ed\u2066e\u2028f👩‍🚀'; // from before it was refused
  const key = { accountId: toAccountId(BigInt(id)), label, createdAtMs: 0, expiresAtMs: 1 };
  await store.write((tx) => tx.keys.insert({ ...key, prefix: 'pst_', permission: 'write' }, Buffer.alloc(32, 1)));
  t.regex(await text(command, `key list --account ${id}`), / a\ufffdb\ufffd\[2J\ufffdc\ufffdd\ufffde\ufffdf👩‍🚀 /);
  const listed = await text(command, `key list --account ${id} --json`);
  t.regex(listed, /"a\\nb\\u001b\[2J\\u009bc\\u202ed\\u2066e\\u2028f👩‍🚀"/);
  t.is(JSON.parse(listed)[0].label, label);
  const refused = await command(`key create --account ${id} --label a\u009b`.split(' '));
  t.regex(refused.stderr, /label: must have no control characters/);
});

test('usage, bans - a key beyond its limit is shown everywhere, until its ban is ended', async (t) => {
  const { command, grpc, store } = t.context;
  // Per day, because a minute may end during a test.
  const limits = `--plan enterprise --per-minute 100 --per-day ${PER_DAY}`;
  const accountId = (await json(command, `account create --name Acme ${limits}`)).id;
  const none = `Account ${accountId} made no request in that time.`;
  t.is(await text(command, `usage --account ${accountId}`), none);
  const { id: keyId, key, prefix } = await json(command, `key create --account ${accountId} --label till`);
  const caller = grpc.withKey(key);
  for (let i = 0; i < PER_DAY; i += 1) await caller.call(Pets.listPets, {});
  for (let i = 0; i < REFUSALS; i += 1) await caller.failure(Pets.listPets, {});
  const dayIndex = dayIndexAt(Date.now()) - 1;
  const yesterday = { accountId: toAccountId(BigInt(accountId)), dayIndex, requests: 7, refused: 0 };
  await store.write((tx) => tx.usage.put([yesterday]));
  const [{ day, ...usage }, ...others] = await json(command, `usage --account ${accountId} --days 1`);
  t.deepEqual([usage, others], [{ requests: PER_DAY, refused: REFUSALS }, []]);
  t.regex(day, /^\d{4}-\d{2}-\d{2}$/);
  t.regex(await text(command, `usage --account ${accountId}`), new RegExp(`TOTAL +${PER_DAY + 7} +${REFUSALS}\\s*$`));

  const why = { refusals: REFUSALS, window: 'day' };
  const [{ startTime, endTime, ...ban }] = await json(command, `ban list --account ${accountId}`);
  t.deepEqual(ban, { keyId, prefix, label: 'till', accountId, accountName: 'Acme', ...why });
  t.regex(startTime, RFC_3339);
  t.is(Date.parse(endTime) - Date.parse(startTime), 300_000);
  t.is(await text(command, 'ban list --account 1'), 'No key of account 1 is banned.');
  t.deepEqual([await json(command, 'ban list --account 1'), (await json(command, 'account show 1')).bans], [[], []]);
  const [listed] = await json(command, `key list --account ${accountId}`);
  t.regex(listed.lastUseTime, RFC_3339);
  t.like(listed.ban, why);
  t.regex(await text(command, `key list --account ${accountId}`), / till +write +banned /);
  await json(command, `account set ${accountId} --per-day ${PER_DAY - 1}`);
  const shown = await json(command, `account show ${accountId}`);
  t.like(shown, { day: { limit: PER_DAY - 1, used: PER_DAY, left: 0 }, refusedToday: REFUSALS, local: false });
  t.regex(shown.day.resetTime, /T00:00:00\.000Z$/);
  t.is(shown.bans[0].keyId, keyId);

  const { ended, ...unbanned } = await json(command, `key unban ${keyId}`);
  t.like(unbanned, { id: keyId, accountId, label: 'till' });
  t.like(ended, { ...why, endTime });
  t.is((await caller.failure(Pets.listPets, {})).reason, 'RATE_LIMITED');
  t.is(await text(command, `key unban ${keyId}`), `Key ${keyId} was not banned. Its refusals count from zero again.`);
  t.false('ended' in (await json(command, `key unban ${keyId}`)));
});

test('petstore - runs as an npm script, and through a symlink in another folder', async (t) => {
  const { settings } = t.context;
  const script = await run('npm', ['run', '-s', 'petstore', '--', 'account', 'list', '--json'], settings);
  t.is(JSON.parse(script.stdout)[0].name, 'Demo');
  const link = join(settings.DATA_DIR, 'petstore');
  await symlink(join(ROOT, 'bin/petstore'), link);
  // PATH has no Node: the command brings its own.
  const linked = await run(link, ['account', 'show', '999'], { ...settings, PATH: '/usr/bin:/bin' });
  t.deepEqual(linked, { exitCode: 1, stdout: '', stderr: 'petstore: account 999 does not exist\n' });
});

testUnless(noOpenssl)("mutual TLS - the command works with the settings of the server's host alone", async (t) => {
  const folder = temporaryFolder(t);
  const [certificates, [port = 0]] = await Promise.all([makeCertificates(t), freePorts(1)]);
  await certificates.issue('petstore-0', `IP:127.0.0.2,DNS:petstore-0,DNS:localhost`);
  const own = { DATA_DIR: folder, GRPC_HOST: '127.0.0.2', GRPC_PORT: String(port), DEMO_ACCOUNT: 'yes' };
  const settings = { ...own, ...certificates.internalTls('petstore-0') };
  const server = new TestProcess('src/main.ts', settings);
  t.teardown(() => server.end('SIGKILL'));
  await server.says(/"serving"/);
  t.is((await json(petstore(settings), 'account list'))[0].name, 'Demo');
});
