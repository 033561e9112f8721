/** Races with If-Match: of several writers with the same tag exactly one succeeds. */
import type { ExecutionContext, TestFn } from 'ava';
import type { RestClient } from '../support/rest-client.ts';
import type { TestStack } from '../support/stack.ts';

const WRITERS = 24;
const ROUNDS = 5;

/** How each kind of resource is created, and how each writer changes it. */
const RESOURCES = {
  pet: {
    create: async (rest: RestClient) => `/pets/${await rest.pet()}`,
    change: (writer: number) => ({ method: 'PATCH', json: { name: `Tom ${writer}` } }),
  },
  category: {
    create: async (rest: RestClient) => `/categories/${await rest.category()}`,
    change: (writer: number) => ({ method: 'PUT', json: { name: `Cats ${writer}` } }),
  },
  order: {
    create: async (rest: RestClient) => `/store/orders/${(await rest.order()).id}`,
    change: (writer: number) => ({ method: 'PATCH', json: { quantity: writer + 2 } }),
  },
  'inventory entry': {
    create: async (rest: RestClient) => `/store/inventory/${await rest.pet()}`,
    change: (writer: number) => ({ method: 'PUT', json: { quantity: writer + 1 } }),
  },
} as const;

type Kind = keyof typeof RESOURCES;

/** All writers change a resource that they have read, concurrently. */
async function race(t: ExecutionContext, rest: RestClient, kind: Kind): Promise<void> {
  const { create, change } = RESOURCES[kind];
  const path = await create(rest);
  const headers = { 'if-match': (await rest.get(path)).headers.get('etag') ?? 'none' };
  const responses = await Promise.all(
    Array.from({ length: WRITERS }, (_, writer) => {
      const { method, json } = change(writer);
      return rest.send(method, path, { json, headers });
    }),
  );
  const statuses = responses.map(({ status }) => status).sort();
  t.deepEqual(statuses, [200, ...Array(WRITERS - 1).fill(412)], kind);
  const [won] = responses.filter(({ status }) => status === 200);
  t.is((await rest.get(path)).text, won?.text ?? 'nothing');
}

/** Half of the callers delete a pet that all have read, the others change it. */
async function raceToDelete(t: ExecutionContext, rest: RestClient): Promise<void> {
  const path = await RESOURCES.pet.create(rest);
  const headers = { 'if-match': (await rest.get(path)).headers.get('etag') ?? 'none' };
  const responses = await Promise.all(
    Array.from({ length: WRITERS }, (_, writer) =>
      writer % 2 === 0
        ? rest.send('DELETE', path, { headers })
        : rest.send('PATCH', path, { json: { name: `Tom ${writer}` }, headers }),
    ),
  );
  const won = responses.filter(({ status }) => status < 300);
  t.is(won.length, 1);
  const isGone = won[0]?.status === 204;
  for (const { status } of responses) if (status >= 300) t.is(status, isGone ? 404 : 412);
  t.is((await rest.get(path)).status, isGone ? 404 : 200);
}

/** Callers increment a quantity, with a retry after a 412: no increment is lost. */
async function increment(t: ExecutionContext, rest: RestClient): Promise<void> {
  const path = await RESOURCES['inventory entry'].create(rest);
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let added = 0; added < 5; ) {
        const { body, headers } = await rest.get(path);
        const json = { quantity: body.quantity + 1 };
        const ifMatch = { 'if-match': headers.get('etag') ?? 'none' };
        const { status } = await rest.send('PUT', path, { json, headers: ifMatch });
        if (status === 200) added += 1;
        else t.is(status, 412);
      }
    }),
  );
  t.is((await rest.get(path)).body.quantity, 40);
}

export function raceTests(test: TestFn<TestStack>, where: string): void {
  test(`If-Match - exactly one of several concurrent changes with the same tag succeeds, ${where}`, async (t) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const kind of Object.keys(RESOURCES) as Kind[]) await race(t, t.context.rest, kind);
    }
  });

  test(`If-Match - exactly one of several concurrent changes and deletes succeeds, ${where}`, async (t) => {
    for (let round = 0; round < ROUNDS; round += 1) await raceToDelete(t, t.context.rest);
  });

  test(`If-Match - a retry after a 412 with a new read overwrites no other change, ${where}`, async (t) => {
    await increment(t, t.context.rest);
  });
}
