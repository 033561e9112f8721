/** What is validated is what is carried out, stored, digested and replayed, however a message is put on the wire. */
import { create, type DescMessage, fromBinary, toBinary } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { status as Code } from '@grpc/grpc-js';
import fc, { type GeneratorValue } from 'fast-check';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { InventoryServiceService as Inventory } from '../../gen/petstore/v1/inventory.ts';
import { OrderServiceService as Orders } from '../../gen/petstore/v1/orders.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { loadOperations } from '../../src/platform/proto/operations.ts';
import { readRequest } from '../../src/platform/proto/request.ts';
import { serverTest } from '../support/service/shared-stack.ts';

const test = serverTest();
const { INVALID_ARGUMENT } = Code;

/** The fields of a message as they are on the wire, by number. */
function recordsOf(bytes: Uint8Array): { number: number; type: WireType; data: Uint8Array }[] {
  const reader = new BinaryReader(bytes);
  const records = [];
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    records.push({ number, type, data: reader.skip(type, number) });
  }
  return records;
}

/** The same number in up to ten bytes. */
function overlong(g: GeneratorValue, varint: Uint8Array): Uint8Array {
  const padding = g(fc.nat, 10 - varint.length);
  if (padding === 0) return varint;
  const zeros = Array.from({ length: padding }, (_, index) => (index === padding - 1 ? 0 : 0x80));
  return Uint8Array.of(...varint.slice(0, -1), Number(varint.at(-1)) | 0x80, ...zeros);
}

const lengthDelimited = (data: Uint8Array) => new BinaryWriter().bytes(data).finish();
const payload = (data: Uint8Array) => new BinaryReader(data).bytes();

function unknown(g: GeneratorValue): Uint8Array {
  const writer = new BinaryWriter();
  const number = g(fc.integer, { min: 1_000, max: 5_000 });
  if (g(fc.boolean))
    return writer
      .uint32((number << 3) | WireType.LengthDelimited)
      .string('?')
      .finish();
  writer
    .uint32((number << 3) | WireType.StartGroup)
    .uint32(8)
    .uint32(1);
  return writer.uint32((number << 3) | WireType.EndGroup).finish();
}

/** Another form of the same message: pieces in any order, repeated scalars, lists packed and not, unknown fields. */
function variant(g: GeneratorValue, type: DescMessage, bytes: Uint8Array): Uint8Array {
  const pieces = new Map<number, Uint8Array[]>();
  const put = (number: number, wireType: WireType, data: Uint8Array) => {
    const tag = new BinaryWriter().uint32((number << 3) | wireType).finish();
    const piece = Buffer.concat([tag, wireType === WireType.Varint ? overlong(g, data) : data]);
    pieces.set(number, [...(pieces.get(number) ?? []), piece]);
  };
  for (const { number, type: wireType, data } of recordsOf(bytes)) {
    const field = type.fields.find((one) => one.number === number);
    if (field?.message !== undefined) {
      const parts: Uint8Array[] = [variant(g, field.message, payload(data))];
      // Each part has some of the fields, all of one field in one part.
      const inner = new Map(recordsOf(parts[0] ?? data).map((record) => [record.number, g(fc.nat, 2)]));
      const split = [0, 1, 2].map((part) => {
        const writer = new BinaryWriter();
        for (const record of recordsOf(parts[0] ?? data)) {
          if (inner.get(record.number) === part) writer.uint32((record.number << 3) | record.type).raw(record.data);
        }
        return writer.finish();
      });
      for (const part of field.fieldKind === 'list' ? parts : split) put(number, wireType, lengthDelimited(part));
    } else if (field?.fieldKind === 'list' && wireType === WireType.LengthDelimited && field.scalar !== 9) {
      const reader = new BinaryReader(payload(data));
      while (reader.pos < reader.len) {
        const item = reader.skip(WireType.Varint);
        if (g(fc.boolean)) put(number, WireType.Varint, item);
        else put(number, WireType.LengthDelimited, lengthDelimited(overlong(g, item)));
      }
    } else {
      const isScalar = field?.fieldKind !== 'list';
      if (isScalar && wireType === WireType.Varint && g(fc.boolean)) put(number, wireType, Uint8Array.of(g(fc.nat, 9)));
      if (isScalar && wireType === WireType.LengthDelimited && g(fc.boolean))
        put(number, wireType, Uint8Array.of(1, 65));
      put(number, wireType, data);
    }
  }
  const left = [...pieces.values()];
  const all: Uint8Array[] = [];
  while (left.length > 0) {
    if (g(fc.boolean)) all.push(unknown(g));
    const at = g(fc.nat, left.length - 1);
    const next = left[at]?.shift();
    if (next === undefined) left.splice(at, 1);
    else all.push(next);
  }
  return Buffer.concat(all);
}

const optionally = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const text = fc.constantFrom('', ' ', 'Cats', 'a\0', 'x'.repeat(201));
const date = fc.record({
  seconds: fc.constantFrom(0n, 1n, 1_800_000_000n, 2n ** 62n),
  nanos: fc.constantFrom(0, 7, -1),
});
const units = fc.constantFrom(0, 1, 7, -1, 1_000_001);
const order = fc.record({
  quantity: optionally(units),
  shipDate: optionally(date),
  complete: optionally(fc.boolean()),
});
const category = fc.record({ name: text, description: optionally(text) });

/** Methods, each with valid and invalid messages. */
const MESSAGES = [
  [Categories.createCategory, fc.record({ category: optionally(category) })],
  [Orders.placeOrder, fc.record({ order: optionally(order) })],
  [
    Inventory.setInventory,
    fc.record({ petId: fc.constantFrom(1n), inventory: optionally(fc.record({ quantity: optionally(units) })) }),
  ],
  [
    Pets.listPets,
    fc.record({ ids: fc.array(fc.constantFrom(1n, 2n, -1n, 2n ** 63n - 1n)), status: optionally(units) }),
  ],
] as const;

const { byPath } = loadOperations();
const inputOf = (path: string) => byPath.get(path)?.input as DescMessage;

test('One reading - every wire form is validated, stored, digested and replayed as that message', async (t) => {
  const { grpc } = t.context;
  await grpc.pet();
  let keys = 0;
  for (const [method, messages] of MESSAGES) {
    const input = inputOf(method.path);
    const sendIt = (bytes: Uint8Array, key: string) => {
      const sent = { ...method, requestSerialize: () => Buffer.from(bytes) };
      return grpc
        .exchange<object, object>(sent, {}, { metadata: { 'idempotency-key': key } })
        .then(({ message, headers }) => ({ message, isReplayed: headers.get('idempotency-replayed').length > 0 }))
        .catch(({ code, details }) => ({ code, details }));
    };
    const outcomes = new Set<boolean>();
    await fc.assert(
      fc.asyncProperty(fc.gen(), messages, async (g, message) => {
        const canonical = toBinary(input, create(input, message as never));
        const bytes = variant(g, input, canonical);
        t.deepEqual(readRequest({ input }, bytes), fromBinary(input, canonical));
        keys += 1;
        const [first, second] = [await sendIt(bytes, `a${keys}`), await sendIt(canonical, `a${keys}`)];
        const isReplayed = 'message' in first && byPath.get(method.path)?.takesIdempotencyKey === true;
        t.deepEqual(second, isReplayed ? { ...first, isReplayed } : first);
        const fresh = await sendIt(canonical, `b${keys}`);
        const withoutId = (outcome: object) =>
          'message' in outcome ? { ...(outcome.message as object), id: 0n } : outcome;
        t.deepEqual(withoutId(fresh), withoutId(first));
        outcomes.add('message' in first);
      }),
      { numRuns: 60, seed: 43 },
    );
    t.deepEqual([...outcomes].sort(), [false, true], method.path);
  }
});

test('One reading - a field of a wrong wire type or over the end, or 5,000 of them, are MALFORMED_BODY', async (t) => {
  const { grpc } = t.context;
  const wrong = [
    ...['ff', '08', '08 80', '9a 06 7f'].map((bytes) => [Categories.listCategories.path, bytes] as const),
    [Categories.createCategory.path, '0a 04 0a 02 ff 41'], // a name that is no UTF-8
    [Pets.createPet.path, '7b'.repeat(60_000)], // groups of an unknown field, each opened in the one before
    [Categories.listCategories.path, '78 01'.repeat(5_001)], // more fields than a message has
    [Pets.listPets.path, `0a 89 27 ${'01'.repeat(5_001)}`], // the same, packed
    [Categories.createCategory.path, '08 01'], // a message as a number
    [Categories.createCategory.path, '0a 08 08 03 43 61 74 73 12 00'], // a name as a number
    [Categories.createCategory.path, '0b 0c'], // a message as a group
    [Categories.createCategory.path, '0a 03 0a 04 43 61 74 73'], // a name that is longer than its category
    [Orders.placeOrder.path, '0a 05 1d 01 00 00 00'], // a quantity as fixed32
    [Pets.listPets.path, '0a 01 81 01'], // a packed list that ends within a number
    [Pets.listPets.path, '09 01 00 00 00 00 00 00 00'], // an id as fixed64
  ] as const;
  for (const [path, hex] of wrong) {
    const bytes = Buffer.from(hex.replaceAll(' ', ''), 'hex');
    const { code, reason, message } = await grpc.failureOfBytes(path, bytes);
    t.deepEqual([code, reason], [INVALID_ARGUMENT, 'MALFORMED_BODY'], `${path} ${hex}`);
    t.regex(message, /^the request body can't be read: it is no petstore\.v1\.\w+Request$/);
  }
});
