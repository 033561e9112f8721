/** `ban …`, and how other commands show a ban. */
import type { Command } from 'commander';
import type { Ban, BannedKey } from '../../../gen/apiplatform/admin/v1/admin.ts';
import { NAME } from '../../identity.ts';
import { nameOf, WINDOWS } from '../access/admin/admin-messages.ts';
import { pages } from '../client/pages.ts';
import { type Admin, adminAction } from './admin.ts';
import { toId } from './arguments.ts';
import { moment, table } from './output.ts';

export type BanOfKey = Ban & Omit<BannedKey, 'ban'>;

export function banCommand(ban: Command): void {
  ban.description('Lists the API keys that are banned.');

  const list = ban
    .command('list')
    .description('Lists banned keys: whose, why, since and until when.')
    .option('--account <id>', 'the number of an account: its keys alone', toId);
  adminAction(list, async (admin, { account: accountId }: { account?: bigint }) => {
    const bans = await allBans(admin, accountId);
    const none = accountId === undefined ? 'No key is banned.' : `No key of account ${accountId} is banned.`;
    return { json: bans, text: bans.length === 0 ? none : table(bans.map(toRow)) };
  });
}

export async function allBans(admin: Admin, accountId?: bigint): Promise<BanOfKey[]> {
  const request = accountId === undefined ? { limit: 100 } : { accountId, limit: 100 };
  const banned = (await Array.fromAsync(pages(admin.listBans, request))).flatMap((page) => page.bans);
  return banned.flatMap(({ ban, ...key }) => (ban === undefined ? [] : [{ ...ban, ...key }]));
}

/** `Key 3 is banned until …`, with the reason, and how to end the ban. */
export function explainBan({ keyId, endTime, refusals, window }: Ban): string {
  const why = `for ${refusals} requests beyond the limit per ${nameOf(WINDOWS, window)}`;
  return `Key ${keyId} is banned until ${moment(endTime)}, ${why}.\nTo end the ban: ${NAME} key unban ${keyId}`;
}

function toRow({ keyId, prefix, accountId, accountName, refusals, window, startTime, endTime }: BanOfKey) {
  return {
    key: keyId,
    'begins with': prefix,
    account: `${accountId} ${accountName}`,
    refused: refusals,
    limit: nameOf(WINDOWS, window),
    since: moment(startTime),
    until: moment(endTime),
  };
}
