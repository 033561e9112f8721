/** What callers see when Envoy's memory runs out: its overload manager responds, without asking the server. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { readConfig } from '../../../src/config/config.ts';
import { findEnvoy } from '../../../src/launcher/envoy.ts';
import { isError } from '../../support/contract.ts';
import { startTestStack, type TestStack } from '../../support/stack.ts';
import { until } from '../../support/until.ts';

const test = anyTest as TestFn<TestStack & { readonly folder: string }>;

test.before(async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'petstore-overload-'));
  const binary = findEnvoy(readConfig({ ENVOY: process.env.ENVOY }));
  // An Envoy that takes no request from the beginning.
  const script = `#!/bin/sh\nsed -i 's/value: 0.98/value: 0.001/' "$2"\nexec ${binary} "$@"\n`;
  const envoy = join(folder, 'envoy');
  await writeFile(envoy, script, { mode: 0o700 });
  t.context = { ...(await startTestStack({ ENVOY: envoy })), folder };
});
test.after.always(async ({ context }) => {
  await context.close();
  await rm(context.folder, { recursive: true });
});

test('503 - under memory pressure every request is UNAVAILABLE with Retry-After', async (t) => {
  const { rest } = t.context;
  await until(async () => (await rest.get('/healthz')).status === 503, 'the pressure');
  for (const response of [await rest.get('/pets'), await rest.post('/pets', {}), await rest.get('/healthz')]) {
    isError(t, response, 503, 'UNAVAILABLE', 'the service is not available just now; try again shortly');
    t.is(response.headers.get('retry-after'), '1');
  }
  const connect = await fetch(`${rest.url}/petstore.v1.PetService/ListPets`, {
    method: 'POST',
    headers: { 'content-type': 'application/proto' },
  });
  t.is(connect.status, 503);
});
