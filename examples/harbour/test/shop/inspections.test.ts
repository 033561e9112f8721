/** What is the inspections' own: money, several at once, and a verb that happens once. */
import { isError, isInvalid } from '../support/contract/errors.ts';
import { stackTest } from '../support/service/shared-stack.ts';

const test = stackTest();

const MOST = '9223372036854775807';
const finding = { severity: 'major', note: 'The keel is loose.' };

test('Inspections - an amount of money is exact, up to the last digit of an int64', async (t) => {
  const { rest } = t.context;
  const path = `/boats/${await rest.boat()}/inspections`;
  const raw = `{"finding":${JSON.stringify(finding)},"estimate":{"amount":${MOST},"currency":"EUR"}}`;
  const { status, text, body } = await rest.send('POST', path, {
    raw,
    headers: { 'content-type': 'application/json' },
  });
  t.is(status, 201);
  const read = await rest.get(`${path}/${body.id}`);
  const event = await rest.get('/events?types=inspection.created&limit=100');
  for (const one of [text, read.text, event.text]) t.true(one.includes(`"amount":${MOST},`), one);
});

test('Inspections - a batch is stored in its order, whole, or not at all', async (t) => {
  const { rest } = t.context;
  const path = `/boats/${await rest.boat()}/inspections`;
  const notes = ['one', 'two', 'three'];
  const inspections = notes.map((note) => ({ finding: { ...finding, note } }));
  const { status, body } = await rest.post(`${path}:batchCreate`, { inspections });
  t.is(status, 200);
  const stored: readonly { finding: { note: string } }[] = body.inspections;
  t.deepEqual(
    stored.map((one) => one.finding.note),
    notes,
  );
  t.is((await rest.get(path)).body.length, 3);
  const wrong = [...inspections, { finding: { severity: 'SEVERITY_UNSPECIFIED' } }];
  isInvalid(t, await rest.post(`${path}:batchCreate`, { inspections: wrong }), 'inspections[3].finding.severity');
  isInvalid(t, await rest.post(`${path}:batchCreate`, { inspections: [] }), 'inspections');
  isError(t, await rest.post('/boats/999999/inspections:batchCreate', { inspections }), 404, 'BOAT_NOT_FOUND');
  t.is((await rest.get(path)).body.length, 3);
});

test('Inspections - one is closed once, with its cost; it is found under its own boat alone', async (t) => {
  const { rest } = t.context;
  const [boat, other] = [await rest.boat(), await rest.boat()];
  const { id } = await rest.created(`/boats/${boat}/inspections`, { finding });
  const cost = { amount: 12_345, currency: 'EUR' };
  isInvalid(t, await rest.post(`/boats/${boat}/inspections/${id}:close`, {}), 'cost');
  isError(t, await rest.post(`/boats/${other}/inspections/${id}:close`, { cost }), 404, 'INSPECTION_NOT_FOUND');
  t.like(await rest.post(`/boats/${boat}/inspections/${id}:close`, { cost }), { status: 200, body: { id, cost } });
  isError(t, await rest.post(`/boats/${boat}/inspections/${id}:close`, { cost }), 409, 'INSPECTION_CLOSED');
  isError(t, await rest.get(`/boats/${other}/inspections/${id}`), 404, 'INSPECTION_NOT_FOUND');
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const { status, headers } = await rest.send(method, `/boats/${boat}/inspections/${id}:close`);
    t.deepEqual([status, headers.get('allow')], [405, 'POST']);
  }
  await rest.delete(`/boats/${boat}`);
  isError(t, await rest.get(`/boats/${boat}/inspections/${id}`), 404, 'INSPECTION_NOT_FOUND'); // it goes with its boat
});
