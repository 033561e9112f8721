/** What is the harbour's own. test/rest/operations.test.ts has what holds for every resource. */
import { isError, isInvalid } from '../support/contract/errors.ts';
import { stackTest } from '../support/service/shared-stack.ts';

const test = stackTest({ RENTAL_DAYS: '2' });

const at = (hour: number) => `2027-01-01T${hour}:00:00Z`;

test('POST /rentals - rentals of one boat do not overlap; the next may start when one ends', async (t) => {
  const { rest } = t.context;
  const [boatId, other] = [await rest.boat(), await rest.boat()];
  const rent = (start: number, end: number, boat = boatId) =>
    rest.post('/rentals', { boatId: boat, start: at(start), end: at(end) });
  const { body: first } = await rent(12, 14);
  for (const [start, end] of [
    [12, 14],
    [11, 13],
    [13, 15],
    [10, 16],
  ] as const) {
    isError(t, await rent(start, end), 409, 'BOAT_TAKEN', /is rented for a part of this time/);
  }
  for (const free of [rent(10, 12), rent(14, 15), rent(12, 14, other)]) t.is((await free).status, 201);
  await rest.delete(`/rentals/${first.id}`);
  t.is((await rent(13, 14)).status, 201, 'a cancelled rental is in nobody’s way');
});

test('POST /rentals - of requests for one boat at the same time one is carried out', async (t) => {
  const { rest } = t.context;
  const json = { boatId: await rest.boat(), start: at(12), end: at(14) };
  const responses = await Promise.all(Array.from({ length: 10 }, () => rest.post('/rentals', json)));
  t.deepEqual(responses.map(({ status }) => status).sort(), [201, ...Array(9).fill(409)]);
});

test('POST /rentals - is for RENTAL_DAYS at most, whoever asks', async (t) => {
  const { rest } = t.context;
  const boatId = await rest.boat();
  const rent = (end: string) => rest.post('/rentals', { boatId, start: '2027-01-01T12:00:00Z', end });
  isError(t, await rent('2027-01-03T12:00:01Z'), 400, 'RENTAL_TOO_LONG', 'a boat may be rented for 2 days at most');
  t.is((await rent('2027-01-03T12:00:00Z')).status, 201);
});

test('POST /rentals - refuses an unknown boat, and an end that is not after the start', async (t) => {
  const { rest } = t.context;
  const unknown = await rest.post('/rentals', { boatId: 999_999, start: at(12), end: at(14) });
  isError(t, unknown, 400, 'UNKNOWN_BOAT', 'boatId: boat 999999 does not exist');
  isInvalid(t, await rest.post('/rentals', { boatId: await rest.boat(), start: at(14), end: at(12) }), 'rental');
});

test('DELETE /boats/{boatId} - is 409 BOAT_IN_USE while a rental names the boat', async (t) => {
  const { rest } = t.context;
  const boatId = await rest.boat();
  const { body } = await rest.post('/rentals', { boatId, start: at(12), end: at(14) });
  const message = `a rental names boat ${boatId}: cancel it first`;
  isError(t, await rest.delete(`/boats/${boatId}`), 409, 'BOAT_IN_USE', message);
  await rest.delete(`/rentals/${body.id}`);
  t.is((await rest.delete(`/boats/${boatId}`)).status, 204);
});

test('GET /events - has each change of a boat and a rental, in its order', async (t) => {
  const { rest } = t.context;
  const boatId = await rest.boat();
  const { body: rental } = await rest.post('/rentals', { boatId, start: at(12), end: at(14) });
  await rest.patch(`/boats/${boatId}`, { seats: 7 });
  await rest.delete(`/rentals/${rental.id}`);
  const { body } = await rest.get('/events?limit=100');
  const own = (body as { type: string; boat?: { id: number; seats: number }; rental?: { id: number } }[]).filter(
    (event) => event.boat?.id === boatId || event.rental?.id === rental.id,
  );
  const types = ['boat.created', 'rental.created', 'boat.updated', 'rental.deleted'];
  t.deepEqual(
    own.map(({ type }) => type),
    types,
  );
  t.is(own[2]?.boat?.seats, 7);
});

test('Lists - pass Envoy as they are written; what is none is a 400 on every spelling of the path', async (t) => {
  const { rest } = t.context;
  const boat = { name: 'Nordwind', seats: 6 };
  for (const path of ['/boats', '/boats/', '/boats?', '/%62oats']) {
    const equipment = ['oars', ' ]"', '😀'];
    const { text, body } = await rest.post(path, { ...boat, equipment });
    t.deepEqual(body, { id: body.id, ...boat, equipment }, text);
    for (const [wrong, name] of [
      ['oars', 'equipment'],
      [['oars', null], 'equipment[1]'],
      [[['oars']], 'equipment[0]'],
      [['oars', ''], 'equipment[1]'],
    ] as const) {
      isInvalid(t, await rest.post(path, { ...boat, equipment: wrong }), name);
    }
  }
});
