import test from 'ava';
import { close, restock, returnUnits, type Stock, take } from '../../src/shop/inventory/stock.ts';
import { PET_STATUSES, type PetStatus } from '../../src/shop/pets/table.ts';

const ANY = PET_STATUSES;

/** Each rule, the statuses and the stock before it, the status (undefined: the same) and the stock after it. */
const RULES: readonly (readonly [
  string,
  (before: Stock) => Stock | undefined,
  readonly PetStatus[],
  number,
  ...After,
])[] = [
  ['Taking - while units are left the status stays', (one) => take(one, 2), ANY, 3, undefined, 1],
  ['Taking - the last unit makes an available pet pending', (one) => take(one, 3), ['available'], 3, 'pending', 0],
  ['Taking - the last unit leaves other statuses', (one) => take(one, 1), ['pending', 'sold'], 1, undefined, 0],
  ['Taking - zero units changes nothing', (one) => take(one, 0), ANY, 0, undefined, 0],
  ['Returning - units make a pet available', (one) => returnUnits(one, 2), ANY, 0, 'available', 2],
  ['Returning - zero units changes nothing', (one) => returnUnits(one, 0), ANY, 5, undefined, 5],
  ['Setting - above zero makes a pet available', (one) => restock(one, 1), ANY, 0, 'available', 1],
  ['Setting - to zero changes no status', (one) => restock(one, 0), ANY, 9, undefined, 0],
  ['Closing - the last open order makes a pending pet sold', (one) => close(one, false), ['pending'], 0, 'sold', 0],
  ['Closing - with another open order it stays pending', (one) => close(one, true), ['pending'], 0, undefined, 0],
  ['Closing - with stock the status stays', (one) => close(one, false), ANY, 1, undefined, 1],
  ['Closing - a status that a client chose stays', (one) => close(one, false), ['available'], 0, undefined, 0],
];
type After = readonly [PetStatus | undefined, number];

for (const [title, rule, statuses, quantity, after, left] of RULES) {
  test(title, (t) => {
    for (const status of statuses) {
      t.deepEqual(rule({ quantity, status }), { quantity: left, status: after ?? status });
    }
  });
}
