/** Concurrent writers, over two servers: each write happens once or is refused. One race at a time. */
import { randomUUID } from 'node:crypto';
import type { RestResponse } from '../support/calls/rest-client.ts';
import { type PublicOperation, requestsTo, sibling } from '../support/contract/resources.ts';
import { sharedMissing, startShared } from '../support/service/shared.ts';
import { sharing } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';

const WRITERS = 16;

const { serial: test } = sharing(sharedMissing, async (t) => {
  const { settings } = await startShared(t);
  return startTestStack(t, { ...(await settings()), INSTANCES: '2' });
});
const WHERE = 'over two servers on PostgreSQL';

/** The operations that change a resource, or replace it, if it has not changed. */
const isChange = ({ condition, method }: PublicOperation) => condition === 'if-match' && method !== 'DELETE';

function race(send: (writer: number) => Promise<RestResponse>, writers = WRITERS): Promise<RestResponse[]> {
  return Promise.all(Array.from({ length: writers }, (_, writer) => send(writer)));
}

test(`If-Match - one of several concurrent changes with the same tag succeeds, ${WHERE}`, async (t) => {
  const { rest } = t.context;
  for (const others of ['its own', 'DELETE']) {
    for (const { operation, method, path, json } of await requestsTo(rest, isChange)) {
      const other = sibling(operation, others)?.method ?? method;
      const headers = { 'if-match': (await rest.get(path)).headers.get('etag') ?? 'none' };
      const responses = await race((writer) =>
        writer % 2 === 0 ? rest.send(other, path, { headers, json }) : rest.send(method, path, { headers, json }),
      );
      const won = responses.find(({ status }) => status < 300);
      const refusal = won?.status === 204 ? 404 : 412;
      const statuses = responses.map(({ status }) => status).sort();
      t.deepEqual(statuses, [won?.status ?? 0, ...Array(WRITERS - 1).fill(refusal)], `${method} and ${other} ${path}`);
      const { status, text } = await rest.get(path);
      if (refusal === 404) t.is(status, 404);
      else t.is(text, won?.text ?? '');
    }
  }
});

test(`Orders - of 64 for the last 10 units 10 succeed, others are INSUFFICIENT_STOCK, ${WHERE}`, async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 10 });
  const responses = await race(() => rest.post('/store/orders', { petId }), 64);
  const won = responses.filter(({ status }) => status === 201);
  const lost = responses.filter(({ status, body }) => status === 409 && body.code === 'INSUFFICIENT_STOCK');
  t.deepEqual([won.length, lost.length], [10, 54]);
  t.deepEqual((await rest.get(`/store/inventory/${petId}`)).body, { petId, quantity: 0, status: 'pending' });
  const listed = (await rest.get(`/store/orders?petId=${petId}&limit=100`)).body.map(({ id }: { id: number }) => id);
  const placed = won.map(({ body }) => body.id).sort((a, b) => a - b);
  t.deepEqual(listed, placed);
});

test(`Orders - one that is completed and cancelled concurrently ends once, ${WHERE}`, async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet({ stock: 5 });
  const path = `/store/orders/${(await rest.order({ petId, quantity: 5 })).id}`;
  const complete = (writer: number) => (writer % 2 === 0 ? rest.patch(path, { complete: true }) : rest.delete(path));
  const responses = await race(complete);
  const won = responses.filter(({ status }) => status < 300);
  const isComplete = won[0]?.status === 200;
  const code = isComplete ? 'ORDER_COMPLETE' : 'ORDER_NOT_FOUND';
  const lost = responses.filter((response) => response.status >= 300 && response.body.code === code);
  t.deepEqual([won.length, lost.length], [1, WRITERS - 1]);
  const expected = isComplete ? { quantity: 0, status: 'sold' } : { quantity: 5, status: 'available' };
  t.deepEqual((await rest.get(`/store/inventory/${petId}`)).body, { petId, ...expected });
});

test(`Same key - of concurrent requests one runs, and all get its response, ${WHERE}`, async (t) => {
  const { rest } = t.context;
  const petId = await rest.pet();
  for (let round = 0; round < 30; round += 1) {
    await rest.put(`/store/inventory/${petId}`, { quantity: 1 });
    const key = randomUUID();
    // Of the order the others find no unit left; of the category they find the record.
    for (const [path, json] of [
      ['/store/orders', { petId, complete: true }],
      ['/categories', { name: 'Cats' }],
    ] as const) {
      const sent = { json, headers: { 'idempotency-key': key } };
      const responses = await race(() => rest.send('POST', path, sent), 4);
      t.deepEqual([...new Set(responses.map(({ status }) => status))], [201]);
      t.is(new Set(responses.map(({ text }) => text)).size, 1);
      t.is(responses.filter(({ headers }) => headers.has('idempotency-replayed')).length, 3);
    }
  }
  t.is((await rest.get(`/store/orders?petId=${petId}&limit=100`)).body.length, 30);
});

test(`Deletion - of a pet and its order, a category and its pet: one succeeds, ${WHERE}`, async (t) => {
  const { rest } = t.context;
  for (let round = 0; round < 10; round += 1) {
    const petId = await rest.pet({ stock: 1 });
    const categoryId = await rest.category();
    for (const [post, remove] of [
      [rest.post('/store/orders', { petId }), rest.delete(`/pets/${petId}`)],
      [rest.post('/pets', { name: 'Tom', categoryId }), rest.delete(`/categories/${categoryId}`)],
    ] as const) {
      const statuses = `${(await post).status} and ${(await remove).status}`;
      t.true(statuses === '201 and 409' || statuses === '400 and 204', statuses);
    }
  }
});
