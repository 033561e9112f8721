import test from 'ava';
import fc from 'fast-check';
import { Category } from '../../gen/petstore/v1/categories.ts';
import { InventoryItem } from '../../gen/petstore/v1/inventory.ts';
import { Order } from '../../gen/petstore/v1/orders.ts';
import { Pet, PetStatus } from '../../gen/petstore/v1/pets.ts';
import { entityTag, matchesStrongly, matchesWeakly, parseEntityTags } from '../../src/platform/rpc/entity-tags.ts';

const opaque = fc.string({ unit: fc.constantFrom(...'abc,*/\\ W!#~\x80\xff'.replace(' ', '')), maxLength: 8 });
const tag = fc.tuple(fc.constantFrom('', 'W/'), opaque).map(([weak, text]) => `${weak}"${text}"`);
/** Separators of two elements, with empty elements. */
const comma = fc.string({ unit: fc.constantFrom(' ', '\t', ','), maxLength: 5 }).map((text) => ` ,${text}`);
const around = fc.string({ unit: fc.constantFrom(' ', '\t', ','), maxLength: 5 });

test('Entity tags - a list is parsed completely, with any white space and empty elements', (t) => {
  const lists = fc.tuple(around, fc.array(fc.tuple(tag, comma), { minLength: 1, maxLength: 10 }), around);
  fc.assert(
    fc.property(lists, ([before, elements, after]) => {
      const text = elements.map(([element, behind]) => element + behind).join('');
      const tags = elements.map(([element]) => element);
      t.deepEqual(parseEntityTags(before + text + after), tags);
    }),
  );
  t.deepEqual(parseEntityTags('"a,b", ""'), ['"a,b"', '""']);
});

test('Entity tags - a malformed or empty list is refused', (t) => {
  const wrong = ['', ' ', ',', ' , ,', 'a', '"a', 'a"', '"a" "b"', '"a"b', 'w/"a"', 'W/', 'W/a', 'W /"a"', 'W/ "a"'];
  const others = ['*, "a"', '"a", *', '*,*', '"a";q=1', '"a" x', '"a\u007f"', '"a b"', "'a'", '"a"b"', '**'];
  for (const text of [...wrong, ...others]) t.is(parseEntityTags(text), undefined, text);
});

test('Entity tags - * matches every tag, a weak one in the weak comparison only', (t) => {
  const matches = (text: string) =>
    ['"a"', '"b"', '"c"'].map((one) => {
      const tags = parseEntityTags(text) ?? [];
      return [matchesStrongly(tags, one), matchesWeakly(tags, one)];
    });
  for (const text of ['*', ' * ', '\t*']) t.deepEqual(matches(text), Array(3).fill([true, true]));
  const expected = [
    [true, true],
    [false, true],
    [false, false],
  ];
  t.deepEqual(matches('"a", W/"b"'), expected);
});

// A release that changes one of these invalidates all tags that callers hold.
test('Entity tags - the tag of a representation does not change between releases', (t) => {
  const shipDate = { seconds: 1_798_804_800n, nanos: 1 };
  const order = { id: 7n, petId: undefined, quantity: 1, shipDate: undefined, complete: false };
  const pet = { id: 7n, name: 'Tom 😀', categoryId: -1n, status: PetStatus.sold };
  for (const [message, expected] of [
    [Pet.encode(Pet.fromPartial(pet)), '"DJ9xE2uc4MbE_watJnLOxq"'],
    [Category.encode({ id: 7n, name: 'Cats', description: undefined }), '"Ombv20qWTOms9JEWnIp23G"'],
    [Category.encode({ id: 7n, name: 'Cats', description: '' }), '"1wYBR2w67kLcWc6Z_7m2gf"'],
    [Order.encode(order), '"ADroSKiG2iezivELm7934M"'],
    [Order.encode({ ...order, petId: 2n ** 62n, shipDate, complete: true }), '"Hp_JjP2Od4a2BHeSo5KwOt"'],
    [InventoryItem.encode({ petId: 7n, quantity: 0, status: PetStatus.available }), '"CpbaOLCG103lZHpVa_-Eob"'],
  ] as const) {
    t.is(entityTag(message.finish()), expected);
  }
});
