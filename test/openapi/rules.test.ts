import { readFileSync } from 'node:fs';
import {
  create,
  createFileRegistry,
  type DescField,
  fromBinary,
  getOption,
  type MessageInitShape,
  setExtension,
} from '@bufbuild/protobuf';
import { FieldOptionsSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { createValidator } from '@bufbuild/protovalidate';
import {
  FieldRulesSchema,
  field as fieldRules,
  type Int64RulesSchema,
} from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import test from 'ava';
import { exact, toKeywords } from '../../scripts/openapi/constraints.ts';
import { describe } from '../../scripts/openapi/document.ts';
import { exampleOf } from '../../scripts/openapi/examples.ts';
import { checkPresence } from '../../scripts/openapi/operations.ts';
import { Schemas } from '../../scripts/openapi/schemas.ts';
import { parcelMessage, parcelRegistry } from '../support/lists/parcels.ts';

const readFiles = () => fromBinary(FileDescriptorSetSchema, readFileSync('gen/descriptors.binpb'));
const registry = createFileRegistry(readFiles());

function fieldOf(message: string, field: string, from = registry): DescField {
  const found = from.getMessage(`petstore.v1.${message}`)?.field[field];
  if (found === undefined) throw new Error(`there is no ${message}.${field}`);
  return found;
}

/** The field `NewPet.name` with other rules than its own. */
function ruled(rules: MessageInitShape<typeof FieldRulesSchema>): DescField {
  const changed = readFiles();
  const file = changed.file.find(({ name }) => name === 'petstore/v1/pets.proto');
  const field = file?.messageType.find(({ name }) => name === 'NewPet')?.field[0];
  if (field === undefined) throw new Error('NewPet has no fields');
  field.options = create(FieldOptionsSchema);
  setExtension(field.options, fieldRules, create(FieldRulesSchema, rules));
  return fieldOf('NewPet', 'name', createFileRegistry(changed));
}

test('Schemas - two types of one name are refused, in the place of the first for both', (t) => {
  const schemas = new Schemas(registry);
  const add = (type: string) => schemas.add('State', type, () => ({ type: 'string' }));
  t.deepEqual(add('a.Project.State'), add('a.Project.State'));
  t.throws(() => add('a.Tool.State'), { message: /^a\.Tool\.State: .* another schema of the name State/ });
});

test('Requests - a message that the document would require, and the server does not, is refused', (t) => {
  const orderPatch = (from: typeof registry) => from.getMessage('petstore.v1.OrderPatch')?.fields ?? [];
  t.notThrows(() => checkPresence(orderPatch(registry)));
  const changed = readFiles();
  const messages = changed.file.flatMap(({ messageType }) => messageType);
  const fields = messages.find(({ name }) => name === 'OrderPatch')?.field ?? [];
  for (const field of fields.filter(({ typeName }) => typeName === '.google.protobuf.Timestamp'))
    Object.assign(field, { proto3Optional: false, oneofIndex: undefined });
  const from = createFileRegistry(changed);
  t.throws(() => checkPresence(orderPatch(from)), { message: /OrderPatch\.ship_date: it needs `optional`/ });
});

type Schema = { readonly required?: readonly string[]; readonly properties?: object };
type Description = { readonly paths: object; readonly components: { readonly schemas: Record<string, Schema> } };
const parcels = describe(parcelRegistry) as never as Description;

test('Rules - those of a list and of its items', (t) => {
  const { components } = parcels;
  const description = 'The labels.';
  const labels = { type: 'string', minLength: 1, maxLength: 5 };
  t.deepEqual(components.schemas.NewParcel?.required, ['name'], 'nobody has to send a list');
  t.like(components.schemas.NewParcel, {
    properties: {
      labels: { type: 'array', minItems: 1, maxItems: 3, uniqueItems: true, items: labels, description },
      itemSizes: { type: 'array', items: { type: 'integer', format: 'int32', minimum: 1, maximum: 9 } },
      petIds: { type: 'array', items: { type: 'integer', format: 'int64' } },
      lines: { type: 'array', maxItems: 4, items: { $ref: '#/components/schemas/Line' } },
      colors: { type: 'array', items: { $ref: '#/components/schemas/Color' } },
      price: { type: 'integer', format: 'int64', minimum: 1, maximum: 2 ** 53 - 1, examples: [1990] },
      box: { $ref: '#/components/schemas/Color', enum: ['blue'], examples: ['blue'] },
    },
  });
  // A list that may be absent is like any other.
  t.like(components.schemas.ParcelPatch, {
    properties: { labels: { type: 'array', maxItems: 3, uniqueItems: true, items: labels, description } },
  });
  t.like(components.schemas, { Labels: undefined, Boxes: { type: 'object' }, Sized: { type: 'object' } });
  t.deepEqual(components.schemas.Parcel?.required, ['id', 'name', 'best'], 'not lists, and what is optional');
  t.like(components.schemas.Line, {
    properties: { notes: { type: 'array', items: { type: 'string', minLength: 1 } } },
  });
});

test('Rules - one that the document does not support stops the generation', (t) => {
  const { cel } = getOption(fieldOf('NewPet', 'name'), fieldRules);
  const shout = { id: 'shout', message: 'must be loud', expression: "this == this.upperAscii() || this == ''" };
  const unsupported: MessageInitShape<typeof FieldRulesSchema>[] = [
    { type: { case: 'string', value: { prefix: 'x' } } },
    { type: { case: 'double', value: { finite: true } } },
    { cel: [shout, ...cel.slice(1)] },
    { cel: [...cel.slice(0, -1), shout] },
    { cel: [...cel, shout] },
    { celExpression: ['this.size() > 2'] },
    { type: { case: 'repeated', value: { items: { type: { case: 'string', value: { suffix: 'x' } } } } } },
    { type: { case: 'repeated', value: { items: { required: true } } } },
  ];
  for (const rules of unsupported) {
    t.throws(() => toKeywords(ruled(rules)), { message: /NewPet\.name: the document does not support/ });
  }
});

test('Bodies - a whole request is described without what is in its path; the response keeps its own items', (t) => {
  const { paths, components } = parcels;
  t.deepEqual(Object.keys(components.schemas.CloseParcelRequest?.properties ?? {}), ['reason']);
  const schema = { $ref: '#/components/schemas/CloseParcelRequest' };
  const content = { 'application/json': { schema, example: { reason: 'full' } } };
  const made = { content: { 'application/json': { example: { parcels: [{ id: 1 }] } } } };
  t.like(paths, {
    '/parcels/{parcelId}:close': { post: { requestBody: { required: true, content } } },
    '/parcels:batch': { post: { responses: { 200: made } } },
  });
});

test('Rules - those of integers, and their examples, are exact or refused by name', (t) => {
  const int64 = (value: MessageInitShape<typeof Int64RulesSchema>) => ({ type: { case: 'int64', value } }) as const;
  const of = (rules: MessageInitShape<typeof FieldRulesSchema>) => toKeywords(ruled(rules));
  t.deepEqual(of(int64({ greaterThan: { case: 'gt', value: -5n }, lessThan: { case: 'lt', value: 5n } })), {
    minimum: -4,
    maximum: 4,
  });
  t.deepEqual(of(int64({ in: [1n, 7n] })), { enum: [1, 7] });
  t.deepEqual(of({ type: { case: 'int32', value: { lessThan: { case: 'lt', value: 5 } } } }), { maximum: 4 });
  t.throws(() => of(int64({ lessThan: { case: 'lte', value: 2n ** 53n } })), {
    message: /NewPet\.name: .* below 2\^53/,
  });
  const outside = int64({ greaterThan: { case: 'gt', value: 5n }, lessThan: { case: 'lt', value: 1n } });
  t.throws(() => of(outside), { message: /NewPet\.name: the document does not support a range/ });
  const price = parcelMessage('NewParcel').field.price;
  if (price === undefined) return t.fail();
  t.is(exampleOf(price), 1990);
  t.throws(() => exact('9007199254740993', price), { message: /NewParcel\.price: .*9007199254740993/ });
});

/** Characters that the rule of names treats differently: letters, blanks, controls, more than one UTF-16 unit. */
const UNITS = [
  ...['a', 'é', '🐈', '"', '\\', ' ', '\t', '\n', '\u0000', '\u001f', '\u007f', '\u0085', '\u009f', '\u00a0', '\u1680'],
  ...['\u2003', '\u200b', '\u2028', '\u2029', '\u202f', '\u205f', '\u3000', '\ufeff'],
];
const LENGTHS = [198, 199, 200, 201, 202].flatMap((length) =>
  ['', ' ', '\u00a0\u00a0'].map((blanks) => `${blanks}${'🐈'.repeat(length)}${blanks}`),
);

test('Rules - the pattern of a name is ASCII, and refuses nothing that the server accepts', (t) => {
  const validator = createValidator({ registry });
  const schema = registry.getMessage('petstore.v1.NewCategory');
  if (schema === undefined) throw new Error('there is no NewCategory');
  const { pattern, minLength } = toKeywords(fieldOf('NewCategory', 'name'));
  t.regex(String(pattern), /^[ -~]+$/);
  // As JSON Schema reads it, and as some tools do.
  const expressions = ['u', ''].map((flags) => new RegExp(String(pattern), flags));
  const isMatch = (name: string) => expressions.map((expression) => expression.test(name));
  t.is(minLength, 1);
  const around = UNITS.flatMap((one) => UNITS.flatMap((other) => [one, other, `${one}a${other}`, `a${one}${other}a`]));
  const isValid = (name: string) => validator.validate(schema, create(schema, { name })).kind === 'valid';
  const refused = [...around, ...LENGTHS].filter((name) => isValid(name) && isMatch(name).includes(false));
  t.deepEqual(refused, []);
  for (const name of [' ', '\u00a0', 'a\tb', '\u0085', 'a\u0000', '\u009fb', 'x'.repeat(401), `a${' '.repeat(400)}b`])
    t.deepEqual(isMatch(name), [false, false], name);
});
