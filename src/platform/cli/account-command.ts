/** `account …`, and `usage`: the usage of an account per day. */
import { type Command, Option } from 'commander';
import type { Account, Standing, WindowStanding } from '../../../gen/apiplatform/admin/v1/admin.ts';
import { nameOf, PLANS } from '../access/admin/admin-messages.ts';
import { pages } from '../client/pages.ts';
import { type Plan, WINDOWS } from '../config/plans.ts';
import { adminAction, type Output } from './admin.ts';
import { toCount, toId } from './arguments.ts';
import { allBans, type BanOfKey, explainBan } from './ban-command.ts';
import { usageError } from './failure.ts';
import { card, count, moment, table } from './output.ts';

interface Options {
  readonly name: string;
  readonly plan: Plan;
  readonly perMinute?: number;
  readonly perDay?: number;
}

export function accountCommand(account: Command): void {
  account.description('Creates, lists and changes accounts.');

  const create = withLimits(account.command('create').description('Creates an account.'))
    .requiredOption('--name <name>', 'what people call it')
    .addOption(planOption().makeOptionMandatory());
  adminAction(create, async (admin, { plan, ...options }: Options) =>
    one(await admin.createAccount({ ...options, plan: PLANS[plan] })),
  );

  adminAction(account.command('list').description('Lists all accounts.'), async (admin) => {
    const accounts = (await Array.fromAsync(pages(admin.listAccounts, { limit: 100 }))).flatMap(
      (page) => page.accounts,
    );
    return { json: accounts, text: accounts.length === 0 ? 'There is no account.' : table(accounts.map(toFields)) };
  });

  const show = account.command('show').description('Shows an account: limits, what is left on all servers, bans.');
  adminAction(withId(show), async (admin, accountId: bigint) => {
    const shown = await admin.getAccount({ accountId });
    return withStanding(shown, await admin.getStanding({ accountId }), await allBans(admin, accountId));
  });

  const set = account.command('set').description('Changes the plan or the agreed limits of an account.');
  withLimits(withId(set)).addOption(planOption());
  adminAction(set, async (admin, accountId: bigint, { plan, ...limits }: Partial<Options>) => {
    const change = plan === undefined ? limits : { ...limits, plan: PLANS[plan] };
    if (Object.keys(change).length === 0) throw usageError('say what to set: --plan, --per-minute or --per-day');
    return one(await admin.updateAccount({ accountId, ...change }));
  });

  const suspend = account
    .command('suspend')
    .description('Suspends an account: its keys are refused until it is resumed.');
  adminAction(withId(suspend), async (admin, accountId: bigint) => one(await admin.suspendAccount({ accountId })));

  const resume = account.command('resume').description('Resumes a suspended account.');
  adminAction(withId(resume), async (admin, accountId: bigint) => one(await admin.resumeAccount({ accountId })));
}

function withId(command: Command): Command {
  return command.argument('<id>', 'the number of the account', toId);
}

function planOption(): Option {
  return new Option('--plan <plan>', 'its plan').choices(Object.keys(PLANS));
}

function withLimits(command: Command): Command {
  return command
    .option('--per-minute <count>', 'requests a minute, as agreed: for enterprise accounts', toCount)
    .option('--per-day <count>', 'requests a day, as agreed: for enterprise accounts', toCount);
}

function one(account: Account): Output {
  return { json: account, text: card(toFields(account)) };
}

function toFields({ id, name, plan, perMinute, perDay, suspended, createTime }: Account) {
  return {
    id,
    name,
    plan: nameOf(PLANS, plan),
    'per minute': perMinute,
    'per day': perDay,
    state: suspended ? 'suspended' : 'active',
    created: moment(createTime),
  };
}

function withStanding(account: Account, standing: Standing, bans: readonly BanOfKey[]): Output {
  const windows = WINDOWS.map(({ name }) => ({ window: name, ...withLeft(standing[name]) }));
  const shown = Object.fromEntries(windows.map(({ window, ...one }) => [window, one]));
  const text = [
    card({ ...toFields(account), 'last use': moment(standing.lastUseTime) ?? 'never' }),
    table(windows.map(({ resetTime, ...window }) => ({ ...window, 'resets at': moment(resetTime) }))),
    `Refused today: ${count(standing.refusedToday)}`,
    ...(standing.local ? ['Redis is unavailable: these are the counts of this server only.'] : []),
    ...bans.map(explainBan),
  ];
  return { json: { ...account, ...standing, ...shown, bans }, text: text.join('\n\n') };
}

function withLeft({ limit = 0, used = 0n, resetTime }: Partial<WindowStanding> = {}) {
  return { limit, used: Number(used), left: Math.max(0, limit - Number(used)), resetTime };
}

export function usageCommand(usage: Command): void {
  usage
    .description('Shows how many requests of an account were admitted and refused, day by day (UTC).')
    .requiredOption('--account <id>', 'the number of the account', toId)
    .option('--days <count>', 'how many days back, today included, at most 400', toCount, 30);
  adminAction(usage, async (admin, { account: accountId, days }: { account: bigint; days: number }) => {
    const used = (await admin.getUsage({ accountId, days })).days;
    if (used.length === 0) return { json: [], text: `Account ${accountId} made no request in that time.` };
    const rows = used.map((one) => ({ day: one.day, requests: Number(one.requests), refused: Number(one.refused) }));
    const sum = (name: 'requests' | 'refused') => rows.reduce((total, row) => total + row[name], 0);
    const total = { day: 'TOTAL', requests: sum('requests'), refused: sum('refused') };
    return { json: used, text: table([...rows, total]) };
  });
}
