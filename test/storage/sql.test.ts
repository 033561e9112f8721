import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import test from 'ava';

test('npm run sql - prints each statement of the tables by its name, those of every resource too', async (t) => {
  const { stdout } = await promisify(execFile)(process.execPath, ['scripts/sql.ts']);
  const names = [...stdout.matchAll(/^(\S+)\n {2}\S/gm)].map(([, name]) => name);
  const resources = ['accounts', 'api_keys', 'categories', 'orders', 'pets'];
  const ofResource = ['by_ids', 'delete', 'insert', 'lock', 'page:', 'update'];
  const others = [
    ...['api_keys.by_hash', 'bans.in_force', 'bans.of_keys', 'bans.page:account_id', 'bans.put', 'bans.remove'],
    ...['events.bounds', 'events.delete_oldest', 'events.look_at_oldest', 'events.page:'],
    ...['by_ids', 'delete_oldest', 'insert', 'look_at_oldest'].map((name) => `idempotency_records.${name}`),
    ...['key_uses.by_keys', 'key_uses.of_account', 'key_uses.put', 'orders.open', 'orders.open_units'],
    ...['pets.in_category', 'usage.delete_before', 'usage.of_account', 'usage.of_day', 'usage.put'],
  ];
  const all = [...resources.flatMap((table) => ofResource.map((name) => `${table}.${name}`)), ...others];
  t.deepEqual(names, all.toSorted());
});
