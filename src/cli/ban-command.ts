/** `petstore ban …`, and how other commands show a ban. */
import type { Command } from 'commander';
import { type Ban, type BannedKey, Window } from '../../gen/petstore/admin/v1/admin.ts';
import { pages } from '../client/pages.ts';
import { type Admin, adminAction } from './admin.ts';
import { toId } from './arguments.ts';
import { moment, momentAfter, rfc3339, table } from './output.ts';

export function banCommand(ban: Command): void {
  ban.description('Lists the API keys that are banned.').helpCommand(false).addHelpText('after', BAN_EXAMPLES);

  ban
    .command('list')
    .description('Lists banned keys: whose, why, since and until when.')
    .option('--account <id>', 'the number of an account: its keys alone', toId('--account'))
    .addHelpText('after', LIST_EXAMPLES)
    .action(
      adminAction(async (admin, { account: accountId }: { account?: bigint }) => {
        const bans = await allBans(admin, accountId);
        const none = accountId === undefined ? 'No key is banned.' : `No key of account ${accountId} is banned.`;
        return { json: bans.map(toJson), text: bans.length === 0 ? none : toTable(bans) };
      }),
    );
}

/** All bans in force, or those of an account's keys. */
export async function allBans(admin: Admin, accountId?: bigint): Promise<BannedKey[]> {
  const bans: BannedKey[] = [];
  const request = accountId === undefined ? { limit: 100 } : { accountId, limit: 100 };
  for await (const page of pages(admin.listBans, request)) bans.push(...page.bans);
  return bans;
}

/** A ban as JSON, without what an earlier release did not store. */
export function banToJson({ startTime, endTime, refusals, window }: Ban) {
  const cause = startTime && { startTime: rfc3339(startTime), refusals, window: windowName(window) };
  return { ...cause, endTime: rfc3339(endTime) };
}

/** `Key 3 is banned until …`, with the reason, and how to end the ban. */
export function explainBan({ keyId, endTime, refusals, window }: Ban): string {
  const limit = window === Window.WINDOW_UNSPECIFIED ? '' : ` beyond the limit per ${windowName(window)}`;
  const why = refusals === 0 ? '' : `, for ${refusals} requests${limit}`;
  return `Key ${keyId} is banned until ${moment(endTime)}${why}.\nTo end the ban: petstore key unban ${keyId}`;
}

function toJson({ ban, prefix, label, accountId, accountName }: BannedKey) {
  const who = { keyId: Number(ban?.keyId), prefix, label, accountId: Number(accountId), accountName };
  return { ...who, ...(ban && banToJson(ban)) };
}

function toTable(bans: readonly BannedKey[]): string {
  return table(
    [
      { title: 'KEY', value: ({ ban }) => String(ban?.keyId), align: 'right' },
      { title: 'BEGINS WITH', value: ({ prefix }) => prefix },
      { title: 'ACCOUNT', value: ({ accountId, accountName }) => `${accountId} ${accountName}`, shrinks: true },
      { title: 'REFUSED', value: ({ ban }) => String(ban?.refusals || ''), align: 'right' },
      { title: 'LIMIT', value: ({ ban }) => windowName(ban?.window) },
      { title: 'SINCE', value: ({ ban }) => moment(ban?.startTime) ?? '' },
      { title: 'UNTIL', value: ({ ban }) => momentAfter(ban?.startTime, ban?.endTime) ?? '' },
    ],
    bans,
  );
}

function windowName(window: Window | undefined): string {
  return window === Window.WINDOW_MINUTE ? 'minute' : window === Window.WINDOW_DAY ? 'day' : '';
}

const BAN_EXAMPLES = `
Examples:
  petstore ban list
  petstore key unban 3`;

const LIST_EXAMPLES = `
Examples:
  petstore ban list
  petstore ban list --account 2 --json
REFUSED is how many refused requests led to the ban; LIMIT is the window whose
limit the last of them exceeded. Addresses are never banned: requests without a
valid key are limited per minute and address.`;
