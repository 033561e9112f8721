import { fromBinary, toJsonString } from '@bufbuild/protobuf';
import test from 'ava';
import fc from 'fast-check';
import { Category } from '../../gen/petstore/v1/categories.ts';
import { Order } from '../../gen/petstore/v1/orders.ts';
import { Pet } from '../../gen/petstore/v1/pets.ts';
import { jsonWriter } from '../../src/platform/protocols/rest/json.ts';
import { parcelMessage } from '../support/lists/parcels.ts';
import { protoRegistry } from '../support/service/call.ts';

function descriptor(name: string) {
  const found = protoRegistry.getMessage(`petstore.v1.${name}`);
  if (found === undefined) throw new Error(`there is no message ${name}`);
  return found;
}

const write = (name: string, message: object) => jsonWriter(descriptor(name))(message);

test('JSON - a list is an array, also one that may be absent; an empty list is left out', (t) => {
  const parcel = jsonWriter(parcelMessage('Parcel'));
  const empty = { id: 1n, name: '', labels: [], lines: [] };
  t.is(parcel(empty), '{"id":1,"name":""}');
  const lines = [
    { name: 'b', notes: ['c'] },
    { name: 'd', notes: [] },
  ];
  const expected = '{"id":1,"name":"","labels":["a","\\""],"lines":[{"name":"b","notes":["c"]},{"name":"d"}]}';
  t.is(parcel({ ...empty, labels: ['a', '"'], lines }), expected);
  const patch = jsonWriter(parcelMessage('ParcelPatch'));
  t.is(patch({}), '{}');
  t.is(patch({ labels: { values: [] } }), '{"labels":[]}');
  t.is(patch({ name: 'a', labels: { values: ['b'] } }), '{"name":"a","labels":["b"]}');
});

test('JSON - a time that the service makes has always three digits of a second', (t) => {
  for (const [nanos, made, sent] of [
    [0, '.000', ''],
    [500_000_000, '.500', '.500'],
    [1_000, '.000001', '.000001'],
    [1, '.000000001', '.000000001'],
  ] as const) {
    const time = { seconds: 1_790_856_000n, nanos };
    t.is(write('Event', { id: 1n, type: 'x', time }), `{"id":1,"type":"x","time":"2026-10-01T12:00:00${made}Z"}`);
    t.is(write('Order', { shipDate: time }), `{"shipDate":"2026-10-01T12:00:00${sent}Z"}`);
  }
});

const id = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const timestamp = fc.record({
  seconds: fc.bigInt({ min: -62_135_596_800n, max: 253_402_300_799n }),
  nanos: fc.integer({ min: 0, max: 999_999_999 }),
});
const text = fc.string({ unit: 'binary' }).map((value) => value.toWellFormed());

/** Returns the same bytes as JSON of the library, with int64 as numbers, zeros, and without empty lists. */
function asLibrary(name: string, bytes: Uint8Array): string {
  const type = descriptor(name);
  const printed = toJsonString(type, fromBinary(type, bytes), { alwaysEmitImplicit: true });
  return printed.replace(/"(id|petId|categoryId)":"(-?\d+)"/g, '"$1":$2').replace(/,"\w+":\[\]/g, '');
}

interface Codec {
  fromPartial(message: never): object;
  encode(message: never): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
}

test('JSON - equals the output of the protobuf library, except for int64', (t) => {
  const same = (name: string, codec: Codec) => (message: object) => {
    const bytes = codec.encode(codec.fromPartial(message as never) as never).finish();
    t.is(write(name, codec.decode(bytes)), asLibrary(name, bytes));
  };
  const name = fc.stringMatching(/^[ -!#-[\]-~]*$/); // no quotes: the pattern above looks for them
  const pet = fc.record({ id, name, categoryId: id, status: fc.integer({ min: 1, max: 3 }) });
  fc.assert(fc.property(pet, same('Pet', Pet)));
  fc.assert(fc.property(fc.record({ id, name, description: optional(name) }), same('Category', Category)));
  const [quantity, complete] = [optional(fc.integer()), optional(fc.boolean())];
  const order = fc.record({ id: optional(id), petId: optional(id), quantity, shipDate: optional(timestamp), complete });
  fc.assert(fc.property(order, same('Order', Order)));
  const isRead = (value: string) => t.is(JSON.parse(write('Category', { id: 1n, name: value })).name, value);
  fc.assert(fc.property(text, (value) => void isRead(value)));
});
