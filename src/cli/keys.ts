/** `petstore key …` */
import type { Command } from 'commander';
import type { Timestamp } from '../../gen/google/protobuf/timestamp.ts';
import type { ApiKey } from '../../gen/petstore/admin/v1/admin.ts';
import { pages } from '../client/pages.ts';
import { asking } from './admin.ts';
import { toId, toInstant } from './arguments.ts';
import { bold, card, moment, rfc3339, table, toDate } from './output.ts';

export function keyCommand(key: Command): void {
  key.description('Creates, lists and revokes API keys.').helpCommand(false).addHelpText('after', KEY_EXAMPLES);

  withAccount(key.command('create').description('Generates an API key from an account.'))
    .option('--label <label>', 'what people call it')
    .option('--expires <date>', 'from when on it is refused: a date or an instant (RFC 3339)', toInstant('--expires'))
    .addHelpText('after', CREATE_EXAMPLES)
    .action(
      asking(async (admin, options: { account: bigint; label?: string; expires?: Date }) => {
        const { account: accountId, expires, ...rest } = options;
        const created = await admin.createKey({ accountId, ...rest, expireTime: expires && toTimestamp(expires) });
        const { apiKey } = created;
        if (apiKey === undefined) throw new Error('the server answered with a key that it says nothing about');
        const shownOnce = `${bold(created.key)}\n\nThis is the only time that the key is shown: keep it in a safe place.`;
        return { json: { ...toJson(apiKey), key: created.key }, text: `${toCard(apiKey)}\n\n${shownOnce}` };
      }),
    );

  withAccount(key.command('list').description('Lists all keys of an account, the revoked ones too.'))
    .addHelpText('after', LIST_EXAMPLES)
    .action(
      asking(async (admin, { account: accountId }: { account: bigint }) => {
        const keys: ApiKey[] = [];
        for await (const page of pages(admin.listKeys, { accountId, limit: 100 })) keys.push(...page.keys);
        const text = keys.length === 0 ? `Account ${accountId} has no key.` : toTable(keys);
        return { json: keys.map(toJson), text };
      }),
    );

  key
    .command('revoke')
    .description('Revokes a key for good.')
    .argument('<key-id>', 'the number of the key, not the key itself', toId('KEY_ID'))
    .addHelpText('after', REVOKE_EXAMPLES)
    .action(
      asking(async (admin, keyId: bigint, _options: object) => {
        const revoked = await admin.revokeKey({ keyId });
        return { json: toJson(revoked), text: toCard(revoked) };
      }),
    );
}

function withAccount(command: Command): Command {
  return command.requiredOption('--account <id>', 'the number of the account', toId('--account'));
}

function toJson({ id, accountId, prefix, label, createTime, expireTime, revokeTime }: ApiKey) {
  const times = {
    createTime: rfc3339(createTime),
    expireTime: rfc3339(expireTime),
    revokeTime: rfc3339(revokeTime),
  };
  return { id: Number(id), accountId: Number(accountId), prefix, label, ...times };
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
      { title: 'LABEL', value: ({ label }) => label ?? '' },
      { title: 'STATE', value: state },
      { title: 'CREATED', value: ({ createTime }) => moment(createTime) ?? '' },
      { title: 'EXPIRES', value: ({ expireTime }) => moment(expireTime) ?? 'never' },
    ],
    keys,
  );
}

function state({ revokeTime, expireTime }: ApiKey): string {
  if (revokeTime !== undefined) return 'revoked';
  return expireTime !== undefined && toDate(expireTime).getTime() <= Date.now() ? 'expired' : 'active';
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
  petstore key revoke 3`;

const CREATE_EXAMPLES = `
Examples:
  petstore key create --account 2 --label laptop
  petstore key create --account 2 --expires 2027-12-31
  petstore key create --account 2 --json | jq -r .key
The key is shown once, here, and stored nowhere.`;

const LIST_EXAMPLES = `
Examples:
  petstore key list --account 2
  petstore key list --account 2 --json`;

const REVOKE_EXAMPLES = `
Example:
  petstore key revoke 3
It works at once in the server that is asked, within 5 seconds in any other.`;
