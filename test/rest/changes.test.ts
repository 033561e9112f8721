/** Events of every resource, by the table: each change by an operation has one, with what a GET says. */
import { walk } from '../support/calls/pages.ts';
import { EVENTS, fill, LISTS, MAKERS, requestTo, sibling } from '../support/contract/resources.ts';
import { stackTest } from '../support/service/shared-stack.ts';

const test = stackTest();

/** The resources that events may have: by message, the field of the event. */
const FIELDS = new Map(
  EVENTS?.response.list?.message?.fields.flatMap(({ message, jsonName, oneof }) =>
    message !== undefined && oneof !== undefined ? [[message.typeName, jsonName] as const] : [],
  ),
);

type Event = Readonly<Record<string, unknown>> & { readonly id: number; readonly type: string };

test('Events - each change of a resource by an operation has one, with what its GET says', async (t) => {
  const { rest } = t.context;
  t.true(EVENTS !== undefined && LISTS.length > 0);
  for (const maker of MAKERS) {
    const field = FIELDS.get(maker.output.typeName);
    if (field === undefined) continue; // a shop may leave a resource out of its feed
    const request = await requestTo(rest, maker);
    const before = (await walk<Event>(rest, `${EVENTS?.template}?limit=100`)).flat().at(-1)?.id ?? 0;
    const made = await rest.created(request.path, request.json);
    const location = fill(maker.location, { ...request.ids, ...made });
    const expected = [[`${field}.created`, (await rest.get(location)).body]];
    const patch = sibling({ resource: maker.location }, 'PATCH');
    if (patch !== undefined) {
      const { json } = await requestTo(rest, patch);
      expected.push([`${field}.updated`, (await rest.patch(location, json)).body]);
    }
    if (sibling({ resource: maker.location }, 'DELETE') !== undefined) {
      expected.push([`${field}.deleted`, (await rest.get(location)).body]);
      await rest.delete(location);
    }
    const events = (await walk<Event>(rest, `${EVENTS?.template}?after=${before}&limit=100`)).flat();
    const own = events.filter((event) => (event[field] as { id?: unknown } | undefined)?.id === made.id);
    const types = own.map(({ type, [field]: resource }) => [type, resource]);
    t.deepEqual(types, expected);
  }
});
