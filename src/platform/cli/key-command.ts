/** `key …` */
import type { Command } from 'commander';
import type { ApiKey } from '../../../gen/apiplatform/admin/v1/admin.ts';
import { toMs } from '../access/admin/admin-messages.ts';
import { toTimestamp } from '../storage/model.ts';
import { adminAction } from './admin.ts';
import { toId, toInstant } from './arguments.ts';
import { allPages, card, day, moment, table } from './output.ts';

const ONCE = 'This is the only time that the key is shown: keep it in a safe place.';

export function keyCommand(key: Command): void {
  key.description('Creates, lists, revokes and unbans API keys.');

  withAccount(key.command('create').description('Generates an API key from an account.'))
    .option('--label <label>', 'what people call it')
    .option('--expires <date>', 'from when on it is refused: a date or an instant (RFC 3339)', toInstant)
    .action(
      adminAction(async (admin, options: { account: bigint; label?: string; expires?: Date }) => {
        const { account: accountId, expires, ...rest } = options;
        const expireTime = expires && toTimestamp(expires.getTime());
        const { apiKey, key: secret } = await admin.createKey({ accountId, ...rest, expireTime });
        if (apiKey === undefined) throw new Error('the response has a key without its description');
        return { json: { ...apiKey, key: secret }, text: [toCard(apiKey), secret, ONCE].join('\n\n') };
      }),
    );

  withAccount(key.command('list').description('Lists all keys of an account, the revoked ones too.')).action(
    adminAction(async (admin, { account: accountId }: { account: bigint }) => {
      const keys = (await allPages(admin.listKeys, { accountId, limit: 100 })).flatMap((page) => page.keys);
      return { json: keys, text: keys.length === 0 ? `Account ${accountId} has no key.` : table(keys.map(toRow)) };
    }),
  );

  withKeyId(key.command('revoke').description('Revokes a key for good, on all servers within 5 seconds.')).action(
    adminAction(async (admin, keyId: bigint) => {
      const revoked = await admin.revokeKey({ keyId });
      return { json: revoked, text: toCard(revoked) };
    }),
  );

  withKeyId(key.command('unban').description('Ends the ban of a key, on all servers. Its limits stay.')).action(
    adminAction(async (admin, keyId: bigint) => {
      const { apiKey, ended } = await admin.unbanKey({ keyId });
      const was =
        ended === undefined
          ? 'was not banned.'
          : `is no longer banned. The ban would have lasted until ${moment(ended.endTime)}.`;
      return { json: { ...apiKey, ended }, text: `Key ${keyId} ${was} Its refusals count from zero again.` };
    }),
  );
}

function withAccount(command: Command): Command {
  return command.requiredOption('--account <id>', 'the number of the account', toId);
}

function withKeyId(command: Command): Command {
  return command.argument('<key-id>', 'the number of the key, not the key itself', toId);
}

function toCard(key: ApiKey): string {
  return card({
    id: key.id,
    account: key.accountId,
    'begins with': key.prefix,
    label: key.label,
    state: state(key),
    created: moment(key.createTime),
    expires: moment(key.expireTime),
    revoked: moment(key.revokeTime),
  });
}

function toRow(key: ApiKey) {
  return {
    id: key.id,
    'begins with': key.prefix,
    label: key.label ?? '',
    state: state(key),
    created: day(key.createTime),
    'last use': moment(key.lastUseTime)?.replace(/:\d\dZ$/, 'Z') ?? 'never',
    expires: day(key.expireTime) ?? 'never',
  };
}

function state({ revokeTime, expireTime, ban }: ApiKey): string {
  if (revokeTime !== undefined) return 'revoked';
  if ((toMs(expireTime) ?? Number.POSITIVE_INFINITY) <= Date.now()) return 'expired';
  return ban === undefined ? 'active' : 'banned';
}
