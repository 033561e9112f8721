import type { DescMethod } from '@bufbuild/protobuf';
import test from 'ava';
import { loadOperations } from '../../src/platform/proto/operations.ts';
import { PUBLIC } from '../support/contract/resources.ts';

const { registry, byPath } = loadOperations();
/** The services of 1.0.0 but for the feed: what the contract says of each of their operations is pinned here. */
const PINNED = ['Pet', 'Category', 'Order', 'Inventory'].map((name) => `petstore.v1.${name}Service`);

const methods: DescMethod[] = PINNED.flatMap((name) => registry.getService(name)?.methods ?? []);

test('Operations - what holds for every one: routes, body, condition, counting, reads', (t) => {
  for (const operation of PUBLIC) {
    const { path, name, method, routes, bodyField, input, output, condition, counting, isRead, isStream } = operation;
    const hasHead = routes.some((route) => route.method === 'HEAD');
    t.is(hasHead, method === 'GET', path);
    const body = input.fields.find((field) => field.name === bodyField);
    t.is(body?.fieldKind, ['POST', 'PUT', 'PATCH'].includes(method) ? 'message' : undefined, path);
    const isOne = routes[0]?.template.endsWith('}') || name === 'ListPets'; // with exactly one of `ids`
    t.is(condition, !isOne ? undefined : method === 'GET' ? 'if-none-match' : 'if-match', path);
    t.is(counting, 'always', path);
    t.is(isRead, isStream || /^(?:Get|List)/.test(name), path);
    if (method === 'POST') t.is(output.fields[0]?.name, 'id', path);
  }
  const all = PUBLIC.flatMap(({ routes }) => routes.map(({ method, template }) => `${method} ${template}`));
  t.is(new Set(all).size, all.length, 'each has a route of its own');
  const deprecated = methods.filter((method) => method.deprecated); // what they announce is tested over REST
  t.deepEqual(
    deprecated.map(({ name }) => name),
    ['GetPet'],
  );
});

// A field without presence is always in the JSON, but not in the bytes while it is zero: tags would stay as they were.
// A list is in neither while it is empty.
test('Entity tags - a field that is added to a tagged message can be absent', (t) => {
  const isTagged = ({ parent, name }: DescMethod) => byPath.get(`/${parent.typeName}/${name}`)?.isTagged;
  const tagged = new Set(methods.filter(isTagged).map(({ output }) => output));
  const always = [...tagged].flatMap(({ name, fields }) =>
    fields
      .filter(({ proto, fieldKind }) => !proto.proto3Optional && fieldKind !== 'list')
      .map((field) => `${name}.${field.name}`),
  );
  t.deepEqual(always, [
    ...['id', 'name', 'category_id', 'status'].map((name) => `Pet.${name}`),
    ...['id', 'name'].map((name) => `Category.${name}`),
    ...['pet_id', 'quantity', 'status'].map((name) => `InventoryItem.${name}`),
  ]);
});
