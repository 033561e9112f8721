/** `key …` */
import { type Command, Option } from 'commander';
import type { ApiKey } from '../../../gen/apiplatform/admin/v1/admin.ts';
import { nameOf, PERMISSIONS, toMs } from '../access/admin/admin-messages.ts';
import { pages } from '../client/pages.ts';
import type { Permission } from '../rpc/caller.ts';
import { toTimestamp } from '../tables/fields.ts';
import { adminAction } from './admin.ts';
import { toId, toInstant, toSeconds } from './arguments.ts';
import { card, moment, table } from './output.ts';

const ONCE = 'This is the only time that the key is shown: keep it in a safe place.';

export function keyCommand(key: Command): void {
  key.description('Creates, rotates, lists, revokes and unbans API keys.');

  const permission = new Option('--permission <permission>', 'what it allows: to read alone, or to write too');
  const create = withAccount(key.command('create').description('Generates an API key for an account.'))
    .option('--label <label>', 'what people call it')
    .option('--expires <date>', 'from when on it is refused: a date or an instant (RFC 3339)', toInstant)
    .addOption(permission.choices(Object.keys(PERMISSIONS)).default('write'));
  adminAction(create, async (admin, { account: accountId, expires, permission, label }: CreateOptions) => {
    const expireTime = expires && toTimestamp(expires.getTime());
    const request = { accountId, label, permission: PERMISSIONS[permission], expireTime };
    return made(await admin.createKey(request));
  });

  const overlap = new Option('--overlap <time>', 'for how long the old one works on: 0, or such as 90m or 7d');
  const rotate = withKeyId(
    key.command('rotate').description('Replaces a key by a new one like it. The old one ends later.'),
  ).addOption(overlap.argParser(toSeconds).default(86_400, '24h'));
  adminAction(rotate, async (admin, keyId: bigint, { overlap: overlapSeconds }: { overlap: number }) => {
    const { replaced, ...one } = await admin.rotateKey({ keyId, overlapSeconds });
    const end = `Key ${keyId} ${overlapSeconds === 0 ? 'has ended' : `ends at ${moment(replaced?.expireTime)}`}.`;
    const { json, text } = made(one);
    return { json: { ...json, replaced }, text: `${text}\n${end}` };
  });

  const list = key.command('list').description('Lists all keys of an account, the revoked ones too.');
  adminAction(withAccount(list), async (admin, { account: accountId }: { account: bigint }) => {
    const all = await Array.fromAsync(pages(admin.listKeys, { accountId, limit: 100 }));
    const keys = all.flatMap((page) => page.keys);
    return { json: keys, text: keys.length === 0 ? `Account ${accountId} has no key.` : table(keys.map(toFields)) };
  });

  const revoke = key.command('revoke').description('Revokes a key for good, on all servers within 5 seconds.');
  adminAction(withKeyId(revoke), async (admin, keyId: bigint) => {
    const revoked = await admin.revokeKey({ keyId });
    return { json: revoked, text: card(toFields(revoked)) };
  });

  const unban = key.command('unban').description('Ends the ban of a key, on all servers with Redis. Its limits stay.');
  adminAction(withKeyId(unban), async (admin, keyId: bigint) => {
    const { apiKey, ended } = await admin.unbanKey({ keyId });
    const was = ended === undefined ? 'was not banned' : 'is no longer banned';
    return { json: { ...apiKey, ended }, text: `Key ${keyId} ${was}. Its refusals count from zero again.` };
  });
}

/** A key that was made, which is shown this once. */
function made({ apiKey, key: secret }: { readonly apiKey?: ApiKey | undefined; readonly key: string }) {
  if (apiKey === undefined) throw new Error('the response has a key without its description');
  return { json: { ...apiKey, key: secret }, text: [card(toFields(apiKey)), secret, ONCE].join('\n\n') };
}

interface CreateOptions {
  readonly account: bigint;
  readonly label?: string;
  readonly expires?: Date;
  readonly permission: Permission;
}

function withAccount(command: Command): Command {
  return command.requiredOption('--account <id>', 'the number of the account', toId);
}

function withKeyId(command: Command): Command {
  return command.argument('<key-id>', 'the number of the key, not the key itself', toId);
}

function toFields(key: ApiKey) {
  return {
    id: key.id,
    account: key.accountId,
    'begins with': key.prefix,
    label: key.label,
    permission: nameOf(PERMISSIONS, key.permission),
    state: state(key),
    created: moment(key.createTime),
    'last use': moment(key.lastUseTime),
    expires: moment(key.expireTime),
    revoked: moment(key.revokeTime),
    replaces: key.replaces,
    'replaced by': key.replacedBy,
  };
}

function state({ revokeTime, expireTime, ban, replacedBy }: ApiKey): string {
  if (revokeTime !== undefined) return 'revoked';
  if ((toMs(expireTime) ?? Number.POSITIVE_INFINITY) <= Date.now()) return 'expired';
  if (ban !== undefined) return 'banned';
  return replacedBy === undefined ? 'active' : 'replaced';
}
