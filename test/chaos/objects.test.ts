/** The checker of reads and writes: what some order of the writes explains passes, and nothing else does. */
import test from 'ava';
import { checkObjects } from '../support/chaos/check-objects.ts';
import type { Call } from '../support/chaos/history.ts';
import {
  at,
  cancelled,
  category,
  categorySeen,
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

const BORN = at(0, 1, created('Tom'));

const EXPLAINED: readonly [title: string, calls: readonly Call[]][] = [
  ['a read after a write sees it', [BORN, at(2, 3, renamed('Tim')), at(4, 5, seen('Tim'))]],
  ['a read beside a write sees what was before', [BORN, at(2, 5, renamed('Tim')), at(3, 4, seen('Tom'))]],
  ['a read beside a write sees it already', [BORN, at(2, 5, renamed('Tim')), at(3, 4, seen('Tim'))]],
  [
    'two writes at a time come in either order',
    [BORN, at(2, 5, renamed('A')), at(2, 5, renamed('B')), at(6, 7, seen('A')), at(8, 9, seen('A'))],
  ],
  ['a write without an answer may have happened', [BORN, at(2, 3, unanswered(renamed('Tim'))), at(4, 5, seen('Tim'))]],
  ['a write without an answer may not', [BORN, at(2, 3, unanswered(renamed('Tim'))), at(4, 5, seen('Tom'))]],
  [
    'a write without an answer may happen late',
    [BORN, at(2, 3, unanswered(renamed('Tim'))), at(4, 5, seen('Tom')), at(6, 7, seen('Tim'))],
  ],
  [
    'a pet that is deleted is gone from reads and lists',
    [BORN, at(2, 3, deleted), at(4, 5, refused(seen('Tom'), 'PET_NOT_FOUND')), at(6, 7, found(undefined))],
  ],
  [
    'the last unit makes a pet pending, its order sold, and a cancelled one available',
    [
      BORN,
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
    'a write that would change nothing at first comes when it does',
    [
      BORN,
      at(2, 3, stocked(5)),
      at(4, 5, placed(1, 2)),
      at(6, 8, changed(1, 1)),
      at(7, 9, changed(1, 2)),
      at(10, 11, inStock(3)),
    ],
  ],
  [
    'an order that grows takes the difference, one that is complete stays',
    [
      BORN,
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
    'a category is what was written last',
    [
      at(0, 1, category('createCategory', 'Cats')),
      at(2, 3, category('replaceCategory', 'Dogs')),
      at(4, 5, categorySeen('Dogs')),
    ],
  ],
  [
    'what was turned away says nothing',
    [BORN, at(2, 3, refused(renamed('Tim'), 'RATE_LIMITED')), at(4, 5, seen('Tom'))],
  ],
];

for (const [title, calls] of EXPLAINED) {
  test(`Objects - ${title}: explained`, (t) => {
    t.deepEqual(checkObjects(calls), { violations: [], objects: 1, undecided: 0 });
  });
}

const UNEXPLAINED: readonly [title: string, calls: readonly Call[]][] = [
  ['an acknowledged write is lost', [BORN, at(2, 3, renamed('Tim')), at(4, 5, seen('Tom'))]],
  ['a created pet is lost', [BORN, at(2, 3, refused(seen('Tom'), 'PET_NOT_FOUND'))]],
  ['a list lacks a pet that was there all the time', [BORN, at(2, 3, found(undefined))]],
  [
    'a read is stale: another had seen the write before',
    [BORN, at(2, 9, renamed('Tim')), at(3, 4, seen('Tim')), at(5, 6, seen('Tom'))],
  ],
  [
    'two readers see two writes in different orders',
    [
      BORN,
      at(2, 9, renamed('A')),
      at(2, 9, renamed('B')),
      ...['A', 'B', 'A'].map((name, i) => at(10 + i, 10.5 + i, seen(name))),
    ],
  ],
  [
    'a write without an answer happens, and is undone',
    [BORN, at(2, 3, unanswered(renamed('Tim'))), at(4, 5, seen('Tim')), at(6, 7, seen('Tom'))],
  ],
  ['a refused write happens', [BORN, at(2, 3, refused(renamed('Tim'), 'PRECONDITION_FAILED')), at(4, 5, seen('Tim'))]],
  [
    'the last unit is sold twice, at a time',
    [BORN, at(2, 3, stocked(1)), at(4, 6, placed(1, 1)), at(4, 6, placed(2, 1))],
  ],
  [
    'stock is refused that is there',
    [BORN, at(2, 3, stocked(2)), at(4, 5, refused(placed(1, 1), 'INSUFFICIENT_STOCK'))],
  ],
  [
    'a cancelled order keeps its units',
    [BORN, at(2, 3, stocked(2)), at(4, 5, placed(1, 1)), at(6, 7, cancelled(1)), at(8, 9, inStock(1))],
  ],
  ['an order is lost', [BORN, at(2, 3, stocked(2)), at(4, 5, placed(1, 1)), at(6, 7, ordered())]],
  [
    'an order is there twice',
    [BORN, at(2, 3, stocked(9)), at(4, 5, placed(1, 1)), at(6, 7, ordered(order(1, 1), order(1, 1)))],
  ],
  ['an order happens twice', [BORN, at(2, 3, stocked(9)), at(4, 5, unanswered(placed(1, 2))), at(6, 7, inStock(5))]],
  ['a status contradicts the stock', [BORN, at(2, 3, stocked(1)), at(4, 5, placed(1, 1)), at(6, 7, seen('Tom'))]],
  [
    'a category is as it was before the last write',
    [
      at(0, 1, category('createCategory', 'Cats')),
      at(2, 3, category('replaceCategory', 'Dogs')),
      at(4, 5, categorySeen('Cats')),
    ],
  ],
  ['an error is none that the state explains', [BORN, at(2, 3, refused(renamed('Tim'), 'INVALID_ARGUMENT'))]],
];

for (const [title, calls] of UNEXPLAINED) {
  test(`Objects - ${title}: not explained`, (t) => {
    t.is(checkObjects(calls).violations.length, 1);
  });
}

test('Objects - of a long history the part is shown that nothing explains', (t) => {
  const before = Array.from({ length: 20 }, (_, index) => [
    at(10 * index + 2, 10 * index + 3, renamed(`Tim ${index}`)),
    at(10 * index + 4, 10 * index + 5, seen(`Tim ${index}`)),
  ]).flat();
  const calls = [
    BORN,
    ...before,
    at(300, 301, renamed('Last')),
    at(302, 303, seen('Tim 7')),
    at(304, 305, seen('Last')),
  ];
  const [violation] = checkObjects(calls).violations;
  t.is(violation?.title, 'no order of the writes explains pet 1');
  t.is(violation?.lines.length, 4);
  const [write, newer, read, others] = violation?.lines ?? [];
  t.regex(write ?? '', /^00:01:12.000 to 00:01:13.000 #72000 REST updatePet .*"Tim 7"/);
  t.regex(newer ?? '', /^00:05:00.000 to 00:05:01.000 #300000 REST updatePet .*: pet 1 "Last"/);
  t.regex(read ?? '', /^00:05:02.000 to 00:05:03.000 #302000 REST getPet .*: pet 1 "Tim 7"/);
  t.is(others, 'whatever became of 20 other writes of it');
});

test('Objects - many writes at a time, some without an answer, are decided', (t) => {
  const writes = Array.from({ length: 8 }, (_, index) => at(2, 9, renamed(`Tim ${index}`)));
  const open = Array.from({ length: 4 }, (_, index) => at(2, 9, unanswered(renamed(`Tam ${index}`))));
  t.deepEqual(checkObjects([BORN, ...writes, ...open, at(10, 11, seen('Tam 3'))]).violations, []);
  t.is(checkObjects([BORN, ...writes, ...open, at(10, 11, seen('Tom'))]).violations.length, 1);
});
