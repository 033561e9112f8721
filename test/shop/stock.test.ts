import assert from 'node:assert/strict';
import test from 'ava';
import fc from 'fast-check';
import type { PetStatus } from '../../src/shop/model.ts';
import { close, restock, returnUnits, type Stock, take } from '../../src/shop/stock.ts';

const STATUSES = ['available', 'pending', 'sold'] as const satisfies readonly PetStatus[];

test('Taking - more units than in stock is refused', (t) => {
  t.is(take({ quantity: 3, status: 'available' }, 4), undefined);
  t.is(take({ quantity: 0, status: 'available' }, 1), undefined);
});

test('Taking - while units are left the status does not change', (t) => {
  for (const status of STATUSES) t.deepEqual(take({ quantity: 3, status }, 2), { quantity: 1, status });
});

test('Taking - the last unit makes an available pet pending', (t) => {
  t.deepEqual(take({ quantity: 3, status: 'available' }, 3), { quantity: 0, status: 'pending' });
});

test('Taking - the last unit does not change a pending or sold status', (t) => {
  t.deepEqual(take({ quantity: 1, status: 'pending' }, 1), { quantity: 0, status: 'pending' });
  t.deepEqual(take({ quantity: 1, status: 'sold' }, 1), { quantity: 0, status: 'sold' });
});

test('Taking - zero units from an empty stock changes nothing', (t) => {
  for (const status of STATUSES) t.deepEqual(take({ quantity: 0, status }, 0), { quantity: 0, status });
});

test('Returning - units make the pet available', (t) => {
  for (const status of STATUSES) {
    t.deepEqual(returnUnits({ quantity: 0, status }, 2), { quantity: 2, status: 'available' });
    t.deepEqual(returnUnits({ quantity: 5, status }, 2), { quantity: 7, status: 'available' });
  }
});

test('Returning - zero units changes nothing', (t) => {
  for (const status of STATUSES) t.deepEqual(returnUnits({ quantity: 5, status }, 0), { quantity: 5, status });
});

test('Setting the inventory - above zero makes the pet available', (t) => {
  for (const status of STATUSES) t.deepEqual(restock({ quantity: 0, status }, 1), { quantity: 1, status: 'available' });
});

test('Setting the inventory - to zero changes no status', (t) => {
  for (const status of STATUSES) t.deepEqual(restock({ quantity: 9, status }, 0), { quantity: 0, status });
});

test('Closing - the last open order of a pending pet without stock makes it sold', (t) => {
  t.deepEqual(close({ quantity: 0, status: 'pending' }, false), { quantity: 0, status: 'sold' });
});

test('Closing - while another order is open the pet stays pending', (t) => {
  t.deepEqual(close({ quantity: 0, status: 'pending' }, true), { quantity: 0, status: 'pending' });
});

test('Closing - while stock is left the status does not change', (t) => {
  for (const status of STATUSES) t.deepEqual(close({ quantity: 1, status }, false), { quantity: 1, status });
});

test('Closing - a status that a client chose is not made sold', (t) => {
  t.deepEqual(close({ quantity: 0, status: 'available' }, false), { quantity: 0, status: 'available' });
});

test('Stock rules - no order of any size makes a count negative or loses a unit', (t) => {
  const stock: fc.Arbitrary<Stock> = fc.record({
    quantity: fc.integer({ min: 0, max: 1_000_000_000 }),
    status: fc.constantFrom(...STATUSES),
  });
  const units = fc.oneof(fc.integer({ min: 1, max: 1_000_000 }), fc.integer({ min: 1, max: 3 }));
  fc.assert(
    fc.property(stock, units, (before, wanted) => {
      const taken = take(before, wanted);
      assert.equal(taken === undefined, wanted > before.quantity);
      if (taken === undefined) return;
      assert.equal(taken.quantity, before.quantity - wanted);
      assert.equal(returnUnits(taken, wanted).quantity, before.quantity);
    }),
    { numRuns: 2_000 },
  );
  t.pass();
});
