/** `petstore account …` */
import { type Command, Option } from 'commander';
import type { Account, BannedKey, Standing, WindowStanding } from '../../gen/petstore/admin/v1/admin.ts';
import { pages } from '../client/pages.ts';
import { adminAction, type Output } from './admin.ts';
import { PLAN_NAMES, planName, toCount, toId, toPlan } from './arguments.ts';
import { allBans, banToJson, explainBan } from './ban-command.ts';
import { UsageError } from './failure.ts';
import { card, count, date, moment, rfc3339, table } from './output.ts';

/** How many bans are shown with an account. */
const MAX_BANS = 3;

interface LimitOptions {
  readonly perMinute?: number;
  readonly perDay?: number;
}

export function accountCommand(account: Command): void {
  account.description('Creates, lists and changes accounts.').helpCommand(false).addHelpText('after', ACCOUNT_EXAMPLES);

  const create = account.command('create').description('Creates an account.');
  create.requiredOption('--name <name>', 'what people call it').addOption(planOption().makeOptionMandatory());
  withLimits(create)
    .addHelpText('after', CREATE_EXAMPLES)
    .action(
      adminAction(async (admin, { name, plan, ...limits }: { name: string; plan: string } & LimitOptions) =>
        one(await admin.createAccount({ name, plan: toPlan(plan), ...limits })),
      ),
    );

  account
    .command('list')
    .description('Lists all accounts.')
    .addHelpText('after', LIST_EXAMPLES)
    .action(
      adminAction(async (admin, _options: object) => {
        const accounts: Account[] = [];
        for await (const page of pages(admin.listAccounts, { limit: 100 })) accounts.push(...page.accounts);
        return { json: accounts.map(toJson), text: accounts.length === 0 ? 'There is no account.' : toTable(accounts) };
      }),
    );

  withId(account.command('show').description('Shows an account: limits, what is left, bans.'))
    .addHelpText('after', SHOW_EXAMPLES)
    .action(
      adminAction(async (admin, accountId: bigint, _options: object) => {
        const shown = await admin.getAccount({ accountId });
        return withStanding(shown, await admin.getStanding({ accountId }), await allBans(admin, accountId));
      }),
    );

  const set = account.command('set').description('Changes the plan or the agreed limits of an account.');
  withLimits(withId(set).addOption(planOption()))
    .addHelpText('after', SET_EXAMPLES)
    .action(
      adminAction(async (admin, accountId: bigint, { plan, ...limits }: { plan?: string } & LimitOptions) => {
        const change = plan === undefined ? limits : { ...limits, plan: toPlan(plan) };
        if (Object.keys(change).length === 0)
          throw new UsageError('say what to set: --plan, --per-minute or --per-day');
        return one(await admin.updateAccount({ accountId, ...change }));
      }),
    );

  withId(account.command('suspend').description('Suspends an account: its keys are refused.'))
    .addHelpText('after', SUSPEND_EXAMPLES)
    .action(
      adminAction(async (admin, accountId: bigint, _options: object) => one(await admin.suspendAccount({ accountId }))),
    );

  withId(account.command('resume').description('Resumes a suspended account.'))
    .addHelpText('after', RESUME_EXAMPLES)
    .action(
      adminAction(async (admin, accountId: bigint, _options: object) => one(await admin.resumeAccount({ accountId }))),
    );
}

function withId(command: Command): Command {
  return command.argument('<id>', 'the number of the account', toId('ID'));
}

function planOption(): Option {
  return new Option('--plan <plan>', 'its plan').choices(PLAN_NAMES);
}

function withLimits(command: Command): Command {
  return command
    .option('--per-minute <count>', 'requests a minute, as agreed: for enterprise accounts', toCount('--per-minute'))
    .option('--per-day <count>', 'requests a day, as agreed: for enterprise accounts', toCount('--per-day'));
}

function one(account: Account): Output {
  return { json: toJson(account), text: card(toFields(account)) };
}

function withStanding(account: Account, standing: Standing, banned: readonly BannedKey[]): Output {
  const { lastUseTime, minute, day, refusedToday, local } = standing;
  const limits = { minute: toWindow(minute), day: toWindow(day), refusedToday: Number(refusedToday), local };
  const bans = banned.flatMap(({ ban }) => (ban === undefined ? [] : [ban]));
  const json = {
    ...toJson(account),
    lastUseTime: rfc3339(lastUseTime),
    ...limits,
    bans: bans.map((ban) => ({ keyId: Number(ban.keyId), ...banToJson(ban) })),
  };
  const text = [
    card({ ...toFields(account), 'last use': moment(lastUseTime) ?? 'never' }),
    toLimitsTable(limits),
    `Refused today: ${count(refusedToday)}`,
    ...(local ? ['Redis is unavailable: these are the counts of this server only.'] : []),
    ...bans.slice(0, MAX_BANS).map(explainBan),
    ...(bans.length > MAX_BANS ? [`More keys are banned: petstore ban list --account ${account.id}`] : []),
  ];
  return { json, text: text.join('\n\n') };
}

function toWindow(standing: WindowStanding | undefined) {
  const { limit = 0, used = 0n, resetTime } = standing ?? {};
  return { limit, used: Number(used), left: Math.max(0, limit - Number(used)), resetTime: rfc3339(resetTime) };
}

function toLimitsTable({ minute, day }: Record<'minute' | 'day', ReturnType<typeof toWindow>>): string {
  return table(
    [
      { title: 'WINDOW', value: ({ name }) => name },
      { title: 'LIMIT', value: ({ limit }) => count(limit), align: 'right' },
      { title: 'USED', value: ({ used }) => count(used), align: 'right' },
      { title: 'LEFT', value: ({ left }) => count(left), align: 'right' },
      { title: 'RESETS AT', value: ({ resetTime }) => moment(resetTime) ?? '' },
    ],
    [
      { name: 'minute', ...minute },
      { name: 'day', ...day },
    ],
  );
}

function toFields(account: Account) {
  return {
    id: String(account.id),
    name: account.name,
    plan: planName(account.plan),
    'per minute': count(account.perMinute),
    'per day': count(account.perDay),
    state: state(account),
    created: moment(account.createTime),
  };
}

function toJson({ id, name, plan, perMinute, perDay, suspended, createTime }: Account) {
  const created = { createTime: rfc3339(createTime) };
  return { id: Number(id), name, plan: planName(plan), perMinute, perDay, suspended, ...created };
}

function toTable(accounts: readonly Account[]): string {
  return table(
    [
      { title: 'ID', value: ({ id }) => String(id), align: 'right' },
      { title: 'NAME', value: ({ name }) => name, shrinks: true },
      { title: 'PLAN', value: ({ plan }) => planName(plan) },
      { title: 'PER MINUTE', value: ({ perMinute }) => count(perMinute), align: 'right' },
      { title: 'PER DAY', value: ({ perDay }) => count(perDay), align: 'right' },
      { title: 'STATE', value: state },
      { title: 'CREATED', value: ({ createTime }) => date(createTime) ?? '' },
    ],
    accounts,
  );
}

function state({ suspended }: Account): string {
  return suspended ? 'suspended' : 'active';
}

const ACCOUNT_EXAMPLES = `
Examples:
  petstore account create --name "Acme Ltd" --plan pro
  petstore account list
  petstore account set 2 --plan business
  petstore account suspend 2`;

const CREATE_EXAMPLES = `
Examples:
  petstore account create --name "Acme Ltd" --plan pro
  petstore account create --name "Big Corp" --plan enterprise \\
    --per-minute 5000 --per-day 1000000`;

const LIST_EXAMPLES = `
Examples:
  petstore account list
  petstore account list --json`;

const SHOW_EXAMPLES = `
Examples:
  petstore account show 2
  petstore account show 2 --json | jq .day.left
LEFT is based on the counts of all servers. This command counts as no request.
A last use at another server is shown after half a minute at the latest.`;

const SET_EXAMPLES = `
Examples:
  petstore account set 2 --plan business
  petstore account set 3 --per-minute 8000
Options that are not given stay as they are. The change takes effect within 5
seconds.`;

const SUSPEND_EXAMPLES = `
Example:
  petstore account suspend 2
Its keys answer 401 until the account is resumed.`;

const RESUME_EXAMPLES = `
Example:
  petstore account resume 2`;
