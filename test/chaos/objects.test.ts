/** The checker of reads and writes accepts a history only if some order of the writes explains it. */
import test from 'ava';
import { checkObjects } from '../support/chaos/check-objects.ts';
import type { Call } from '../support/chaos/history.ts';
import {
  at,
  cancelled,
  changed,
  completed,
  created,
  deleted,
  found,
  inStock,
  order,
  ordered,
  placed,
  refused,
  renamed,
  seen,
  stocked,
  unanswered,
} from '../support/chaos/history-builder.ts';

const CREATION = at(0, 1, created('Tom'));

const EXPLAINED: readonly [title: string, calls: readonly Call[]][] = [
  ['a read after a write sees it', [CREATION, at(2, 3, renamed('Tim')), at(4, 5, seen('Tim'))]],
  ['a read during a write sees the old value', [CREATION, at(2, 5, renamed('Tim')), at(3, 4, seen('Tom'))]],
  ['a read during a write sees the new value', [CREATION, at(2, 5, renamed('Tim')), at(3, 4, seen('Tim'))]],
  [
    'two concurrent writes apply in either order',
    [CREATION, at(2, 5, renamed('A')), at(2, 5, renamed('B')), at(6, 7, seen('A')), at(8, 9, seen('A'))],
  ],
  ['an unanswered write may have happened', [CREATION, at(2, 3, unanswered(renamed('Tim'))), at(4, 5, seen('Tim'))]],
  [
    'an unanswered write may not have happened',
    [CREATION, at(2, 3, unanswered(renamed('Tim'))), at(4, 5, seen('Tom'))],
  ],
  [
    'an unanswered write may happen late',
    [CREATION, at(2, 3, unanswered(renamed('Tim'))), at(4, 5, seen('Tom')), at(6, 7, seen('Tim'))],
  ],
  [
    'a deleted pet is absent from reads and lists',
    [CREATION, at(2, 3, deleted), at(4, 5, refused(seen('Tom'), 'PET_NOT_FOUND')), at(6, 7, found(undefined))],
  ],
  [
    'the last unit makes a pet pending, its order sold, and a cancelled one available',
    [
      CREATION,
      at(2, 3, stocked(5)),
      at(4, 5, placed(1, 3)),
      at(6, 7, placed(2, 2)),
      at(8, 9, seen('Tom', 'pending')),
      at(10, 11, refused(placed(3, 1), 'INSUFFICIENT_STOCK')),
      at(12, 13, completed(1, 3)),
      at(14, 15, inStock(0, 'pending')),
      at(16, 17, cancelled(2)),
      at(18, 19, inStock(2)),
      at(20, 21, placed(4, 2, true)),
      at(22, 23, inStock(0, 'sold')),
      at(24, 25, ordered(order(1, 3, true), order(4, 2, true))),
    ],
  ],
  [
    'a write without effect at first applies when it has one',
    [
      CREATION,
      at(2, 3, stocked(5)),
      at(4, 5, placed(1, 2)),
      at(6, 8, changed(1, 1)),
      at(7, 9, changed(1, 2)),
      at(10, 11, inStock(3)),
    ],
  ],
  [
    'a larger order takes the difference, a complete one stays',
    [
      CREATION,
      at(2, 3, stocked(5)),
      at(4, 5, placed(1, 3)),
      at(6, 7, changed(1, 4)),
      at(8, 9, inStock(1)),
      at(10, 11, completed(1, 4)),
      at(12, 13, refused(cancelled(1), 'ORDER_COMPLETE')),
      at(14, 15, deleted),
    ],
  ],
  [
    'a rate-limited write has no effect',
    [CREATION, at(2, 3, refused(renamed('Tim'), 'RATE_LIMITED')), at(4, 5, seen('Tom'))],
  ],
];

for (const [title, calls] of EXPLAINED) {
  test(`Objects - ${title}: explained`, (t) => {
    t.deepEqual(checkObjects(calls), { violations: [], objects: 1, undecided: 0 });
  });
}

const UNEXPLAINED: readonly [title: string, calls: readonly Call[]][] = [
  ['an acknowledged write is lost', [CREATION, at(2, 3, renamed('Tim')), at(4, 5, seen('Tom'))]],
  ['a created pet is lost', [CREATION, at(2, 3, refused(seen('Tom'), 'PET_NOT_FOUND'))]],
  ['a list lacks a pet that existed throughout', [CREATION, at(2, 3, found(undefined))]],
  [
    'a read is stale: another had seen the write before',
    [CREATION, at(2, 9, renamed('Tim')), at(3, 4, seen('Tim')), at(5, 6, seen('Tom'))],
  ],
  [
    'two readers see two writes in different orders',
    [
      CREATION,
      at(2, 9, renamed('A')),
      at(2, 9, renamed('B')),
      ...['A', 'B', 'A'].map((name, i) => at(10 + i, 10.5 + i, seen(name))),
    ],
  ],
  [
    'an unanswered write happens, and is undone',
    [CREATION, at(2, 3, unanswered(renamed('Tim'))), at(4, 5, seen('Tim')), at(6, 7, seen('Tom'))],
  ],
  [
    'an unanswered write happens before it was sent',
    [CREATION, at(2, 3, seen('Tim')), at(4, 5, unanswered(renamed('Tim')))],
  ],
  [
    'a refused write happens',
    [CREATION, at(2, 3, refused(renamed('Tim'), 'PRECONDITION_FAILED')), at(4, 5, seen('Tim'))],
  ],
  [
    'the last unit is sold twice concurrently',
    [CREATION, at(2, 3, stocked(1)), at(4, 6, placed(1, 1)), at(4, 6, placed(2, 1))],
  ],
  [
    'an order is refused although there is stock',
    [CREATION, at(2, 3, stocked(2)), at(4, 5, refused(placed(1, 1), 'INSUFFICIENT_STOCK'))],
  ],
  [
    'a cancelled order keeps its units',
    [CREATION, at(2, 3, stocked(2)), at(4, 5, placed(1, 1)), at(6, 7, cancelled(1)), at(8, 9, inStock(1))],
  ],
  ['an order is lost', [CREATION, at(2, 3, stocked(2)), at(4, 5, placed(1, 1)), at(6, 7, ordered())]],
  [
    'an order is listed twice',
    [CREATION, at(2, 3, stocked(9)), at(4, 5, placed(1, 1)), at(6, 7, ordered(order(1, 1), order(1, 1)))],
  ],
  [
    'an order happens twice',
    [CREATION, at(2, 3, stocked(9)), at(4, 5, unanswered(placed(1, 2))), at(6, 7, inStock(5))],
  ],
  ['a status contradicts the stock', [CREATION, at(2, 3, stocked(1)), at(4, 5, placed(1, 1)), at(6, 7, seen('Tom'))]],
  ['the state does not explain an error', [CREATION, at(2, 3, refused(renamed('Tim'), 'INVALID_ARGUMENT'))]],
];

for (const [title, calls] of UNEXPLAINED) {
  test(`Objects - ${title}: not explained`, (t) => {
    t.is(checkObjects(calls).violations.length, 1);
  });
}

test('Objects - many concurrent writes, some unanswered, are decided', (t) => {
  const writes = Array.from({ length: 8 }, (_, index) => at(2, 9, renamed(`Tim ${index}`)));
  const open = Array.from({ length: 4 }, (_, index) => at(2, 9, unanswered(renamed(`Tam ${index}`))));
  t.deepEqual(checkObjects([CREATION, ...writes, ...open, at(10, 11, seen('Tam 3'))]).violations, []);
  t.is(checkObjects([CREATION, ...writes, ...open, at(10, 11, seen('Tom'))]).violations.length, 1);
});
