/** `petstore key …` */
import type { Command } from 'commander';
import type { Timestamp } from '../../gen/google/protobuf/timestamp.ts';
import type { ApiKey } from '../../gen/petstore/admin/v1/admin.ts';
import { pages } from '../client/pages.ts';
import { adminAction } from './admin.ts';
import { toId, toInstant } from './arguments.ts';
import { banToJson, explainBan } from './ban-command.ts';
import { bold, card, date, minuteOf, moment, rfc3339, table, toDate } from './output.ts';

export function keyCommand(key: Command): void {
  key.description('Creates, lists, revokes and unbans API keys.').helpCommand(false).addHelpText('after', KEY_EXAMPLES);

  withAccount(key.command('create').description('Generates an API key from an account.'))
    .option('--label <label>', 'what people call it')
    .option('--expires <date>', 'from when on it is refused: a date or an instant (RFC 3339)', toInstant('--expires'))
    .addHelpText('after', CREATE_EXAMPLES)
    .action(
      adminAction(async (admin, options: { account: bigint; label?: string; expires?: Date }) => {
        const { account: accountId, expires, ...rest } = options;
        const created = await admin.createKey({ accountId, ...rest, expireTime: expires && toTimestamp(expires) });
        const { apiKey } = created;
        if (apiKey === undefined) throw new Error('the response has a key without its description');
        const advice = 'This is the only time that the key is shown: keep it in a safe place.';
        const shownOnce = `${bold(created.key)}\n\n${advice}`;
        return { json: { ...toJson(apiKey), key: created.key }, text: `${toCard(apiKey)}\n\n${shownOnce}` };
      }),
    );

  withAccount(key.command('list').description('Lists all keys of an account, the revoked ones too.'))
    .addHelpText('after', LIST_EXAMPLES)
    .action(
      adminAction(async (admin, { account: accountId }: { account: bigint }) => {
        const keys: ApiKey[] = [];
        for await (const page of pages(admin.listKeys, { accountId, limit: 100 })) keys.push(...page.keys);
        if (keys.length === 0) return { json: [], text: `Account ${accountId} has no key.` };
        const bans = keys.flatMap((one) => (one.ban !== undefined && state(one) === 'banned' ? [one.ban] : []));
        return { json: keys.map(toJson), text: [toTable(keys), ...bans.map(explainBan)].join('\n\n') };
      }),
    );

  withKeyId(key.command('revoke').description('Revokes a key for good.'))
    .addHelpText('after', REVOKE_EXAMPLES)
    .action(
      adminAction(async (admin, keyId: bigint, _options: object) => {
        const revoked = await admin.revokeKey({ keyId });
        return { json: toJson(revoked), text: toCard(revoked) };
      }),
    );

  withKeyId(key.command('unban').description('Ends the ban of a key.'))
    .addHelpText('after', UNBAN_EXAMPLES)
    .action(
      adminAction(async (admin, keyId: bigint, _options: object) => {
        const { apiKey, ended } = await admin.unbanKey({ keyId });
        const json = { ...(apiKey && toJson(apiKey)), ended: ended && banToJson(ended) };
        const was =
          ended === undefined
            ? 'was not banned.'
            : `is no longer banned. The ban would have lasted until ${moment(ended.endTime)}.`;
        return { json, text: `Key ${keyId} ${was} Its refusals count from zero again.` };
      }),
    );
}

function withAccount(command: Command): Command {
  return command.requiredOption('--account <id>', 'the number of the account', toId('--account'));
}

function withKeyId(command: Command): Command {
  return command.argument('<key-id>', 'the number of the key, not the key itself', toId('KEY_ID'));
}

function toJson({ id, accountId, prefix, label, createTime, expireTime, revokeTime, lastUseTime, ban }: ApiKey) {
  const times = {
    createTime: rfc3339(createTime),
    expireTime: rfc3339(expireTime),
    revokeTime: rfc3339(revokeTime),
    lastUseTime: rfc3339(lastUseTime),
  };
  return { id: Number(id), accountId: Number(accountId), prefix, label, ...times, ban: ban && banToJson(ban) };
}

function toCard(key: ApiKey): string {
  return card({
    id: String(key.id),
    account: String(key.accountId),
    'begins with': key.prefix,
    label: key.label,
    state: state(key),
    created: moment(key.createTime),
    expires: moment(key.expireTime),
    revoked: moment(key.revokeTime),
  });
}

function toTable(keys: readonly ApiKey[]): string {
  return table(
    [
      { title: 'ID', value: ({ id }) => String(id), align: 'right' },
      { title: 'BEGINS WITH', value: ({ prefix }) => prefix },
      { title: 'LABEL', value: ({ label }) => label ?? '', shrinks: true },
      { title: 'STATE', value: state },
      { title: 'CREATED', value: ({ createTime }) => date(createTime) ?? '' },
      { title: 'LAST USE', value: ({ lastUseTime }) => minuteOf(lastUseTime) ?? 'never' },
      { title: 'EXPIRES', value: ({ expireTime }) => minuteOf(expireTime) ?? 'never' },
    ],
    keys,
  );
}

function state({ revokeTime, expireTime, ban }: ApiKey): string {
  if (revokeTime !== undefined) return 'revoked';
  if (expireTime !== undefined && toDate(expireTime).getTime() <= Date.now()) return 'expired';
  return ban === undefined ? 'active' : 'banned';
}

function toTimestamp(instant: Date): Timestamp {
  const ms = instant.getTime();
  const seconds = Math.floor(ms / 1_000);
  return { seconds: BigInt(seconds), nanos: (ms - seconds * 1_000) * 1_000_000 };
}

const KEY_EXAMPLES = `
Examples:
  petstore key create --account 2 --label laptop
  petstore key list --account 2
  petstore key revoke 3
  petstore key unban 3`;

const CREATE_EXAMPLES = `
Examples:
  petstore key create --account 2 --label laptop
  petstore key create --account 2 --expires 2027-12-31
  petstore key create --account 2 --json | jq -r .key
The key is shown once, here, and stored nowhere.`;

const LIST_EXAMPLES = `
Examples:
  petstore key list --account 2
  petstore key list --account 2 --json
A last use at another server is shown after half a minute at the latest.`;

const REVOKE_EXAMPLES = `
Example:
  petstore key revoke 3
It takes effect at once in the server that is called, and within 5 seconds in
others.`;

const UNBAN_EXAMPLES = `
Example:
  petstore key unban 3
"petstore ban list" shows the numbers of banned keys. The ban ends at once, on
all servers. The account's limits stay as they are: a request beyond them is
still refused (see "petstore account show").`;
