/**
 * Callers at one address, and at others, whom a noisy one must not delay; and what guessing keys costs the database, on
 * a server in this process, whose look-ups are counted.
 */
import { once } from 'node:events';
import { constants } from 'node:http2';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { status as Code } from '@grpc/grpc-js';
import { AdminServiceService as Admin } from '../../gen/apiplatform/admin/v1/admin.ts';
import { CategoryServiceService as Categories } from '../../gen/petstore/v1/categories.ts';
import { PetServiceService as Pets } from '../../gen/petstore/v1/pets.ts';
import { generateKey } from '../../src/platform/access/keys/format.ts';
import { call } from '../support/calls/connect-client.ts';
import { GrpcCaller } from '../support/calls/grpc-caller.ts';
import { exchange, sessionOf, targetOf } from '../support/calls/http2.ts';
import { loseAllTo, noNamespaces } from '../support/machine/namespaces.ts';
import { startTestServer } from '../support/service/server.ts';
import { testUnless } from '../support/service/sharing.ts';
import type { TestStack } from '../support/service/stack.ts';
import { until, withinOneMinute } from '../support/until.ts';
import { AS_DEPLOYED, hostileTest, MIB, mib, pidsOf, storeLargestList, watchMemory } from './campaign/service.ts';

const test = hostileTest({ ...AS_DEPLOYED, TRUSTED_PROXIES: '127.0.0.1' });

const OVER_THE_LIMIT = Number(AS_DEPLOYED.ADDRESS_PER_MINUTE) + 2;
const FROM = { headers: { 'x-forwarded-for': '8.8.8.8' } };

test.serial('Neighbours - requests of one address without a key lock no new, valid key out', async (t) => {
  const { rest, operator, publicAddress } = t.context;
  const { id } = await operator.account({ perMinute: 1_000, perDay: 1_000 });
  const newKey = async () => (await operator.key(id)).key;
  await withinOneMinute(20_000);
  const noisy = (i: number) => rest.withKey(i < OVER_THE_LIMIT ? 'nonsense' : undefined);
  const noise = [];
  for (let i = 0; i < 2 * OVER_THE_LIMIT; i += 1) noise.push((await noisy(i).get('/pets', FROM)).status);
  t.is(noise.at(-1), 429, 'the noise is over the limit');

  t.is((await rest.withKey(await newKey()).get('/pets', FROM)).status, 200, 'REST');
  const grpc = new GrpcCaller(publicAddress, await newKey());
  const asked = { ids: [], pageToken: '' };
  await t.notThrowsAsync(grpc.call(Pets.listPets, asked, { metadata: FROM.headers }), 'gRPC');
  grpc.close();
  const { path, requestSerialize } = Categories.listCategories;
  const message = requestSerialize({ pageToken: '' });
  t.is((await call({ rest, key: await newKey() }, path, message, FROM.headers)).status, 200, 'Connect');
});

test.serial(
  'Revoked keys - have that burst too while the server refuses all of their address for its minute',
  async (t) => {
    const { operator, publicAddress } = t.context;
    const { id, key } = await operator.key((await operator.account({ perMinute: 1_000, perDay: 1_000 })).id);
    await withinOneMinute(20_000);
    const session = await sessionOf(t, targetOf(publicAddress, '127.0.0.11'));
    const ask = (authorization: string) =>
      exchange(session, { ':path': '/pets', authorization: `Bearer ${authorization}` });
    t.is((await ask(key)).status, 200);
    for (let i = 0; i < OVER_THE_LIMIT; i += 1) await ask('nonsense');
    await operator.call(Admin.revokeKey, { keyId: id });
    t.is((await ask(key)).status, 429);
    const limits = new Set<string | null>();
    for (let i = 0; i < 200; i += 1) limits.add((await ask(key)).headers.get('x-ratelimit-limit'));
    t.deepEqual([...limits], [AS_DEPLOYED.ADDRESS_PER_MINUTE, AS_DEPLOYED.ADDRESS_BURST]);
  },
);

const CONNECTIONS = 4;
const PER_CONNECTION = 100;
/** A caller that waits for an unread response waits for its reset after 10 s. */
const SOON_MS = 5_000;

test.serial('Unread responses - 400 of the largest pages, which are never read, delay no other caller', async (t) => {
  const { rest, key, publicAddress } = t.context;
  await storeLargestList(t.context);
  const statuses: unknown[] = [];
  for (let i = 0; i < CONNECTIONS; i += 1) {
    const session = await sessionOf(t, targetOf(publicAddress, '127.0.0.9'), i, { initialWindowSize: 0 });
    // From now on this connection's worker of Envoy knows the key: a burst with an unknown one would be refused.
    await once(session.request({ ':method': 'HEAD', ':path': '/pets', authorization: `Bearer ${key}` }), 'response');
    for (let j = 0; j < PER_CONNECTION; j += 1) {
      const stream = session.request({ ':path': '/categories?limit=100', authorization: `Bearer ${key}` });
      stream.on('response', (headers) => statuses.push(headers[':status'])).on('error', () => undefined);
    }
  }
  await until(() => statuses.length > (CONNECTIONS * PER_CONNECTION) / 2, 'the headers of most responses');
  t.deepEqual([...new Set(statuses)], [200]);
  const waits: number[] = [];
  for (let i = 1; i <= 20; i += 1) {
    const startMs = performance.now();
    t.is((await rest.get(`/categories/${i}`)).status, 200);
    waits.push(performance.now() - startMs);
  }
  t.true(Math.max(...waits) < SOON_MS, `${waits.map(Math.round)} ms`);
});

test.serial('Large pages - of 440 at once each is whole, and the server stays below 500 MiB', async (t) => {
  const { rest, key, publicAddress } = t.context;
  const description = '\x01'.repeat(2_000); // six bytes each
  for (let i = 1; i <= 100; i += 1) await rest.post('/categories', { name: `Escaped ${i}`, description });
  const memory = watchMemory(pidsOf(t.context).server);
  const paths = ['/categories?limit=100', '/events?limit=100', '/events?limit=100&types=category.created'];
  const authorization = `Bearer ${key}`;
  const pages = Array.from({ length: CONNECTIONS }, async (_, i) => {
    const session = await sessionOf(t, targetOf(publicAddress, '127.0.0.9'), i);
    await exchange(session, { ':method': 'HEAD', ':path': '/pets', authorization }); // the key is known then
    const all = Array.from({ length: 110 }, (_, j) => exchange(session, { ':path': paths[j % 3], authorization }));
    return Promise.all(all);
  });
  for (const { status, headers, body, outcome } of (await Promise.all(pages)).flat()) {
    t.deepEqual([status, outcome, body.length], [200, 'answered', Number(headers.get('content-length'))]);
  }
  memory.stop();
  t.true(memory.peakBytes < 500 * MIB, mib(memory.peakBytes));
});

test.serial('Large bodies - a burst of one account is read a part at a time, and the rest is a 503', async (t) => {
  const { rest, operator, publicAddress } = t.context;
  const other = await operator.keyOf({ perMinute: 1_000, perDay: 1_000 });
  const { id } = await operator.account({ perMinute: 1_000, perDay: 1_000 });
  const keys: string[] = [];
  while (keys.length < 15) keys.push((await operator.key(id)).key);
  const [key = ''] = keys;
  const session = await sessionOf(t, targetOf(publicAddress, '127.0.0.10'));
  const members = Array.from({ length: 6_500 }, (_, index) => `"${index}":0`).join();
  const post = (authorization: string, body: string) => {
    const headers = { ':method': 'POST', ':path': '/store/orders', 'content-type': 'application/json' };
    return exchange(session, { ...headers, authorization: `Bearer ${authorization}` }, { body: Buffer.from(body) });
  };
  for (const one of [...keys, other]) t.is((await post(one, '{}')).status, 201);
  const large = `{${members}}`;
  const burst = Array.from({ length: 90 }, (_, index) => post(keys[index % keys.length] ?? key, large));
  const small = post(key, '{}');
  const beside = post(other, large);
  const answers = await Promise.all(burst);
  const refused = answers.filter(({ status }) => status === 503);
  t.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201, 503]));
  t.is(JSON.parse(String(refused[0]?.body)).code, 'UNAVAILABLE');
  t.is(refused[0]?.headers.get('retry-after'), '1');
  t.deepEqual([(await small).status, (await beside).status], [201, 201]);
  await until(async () => (await post(key, large)).status === 201, 'a second to pass');
  t.is((await rest.get('/pets')).status, 200);
});

const GUESSES = 1_000;
const PER_MINUTE = 60;

test('Keys - of 1000 guesses from one address, one after another, at most a minute’s limit is looked up', async (t) => {
  const server = await startTestServer(t, { ADDRESS_PER_MINUTE: String(PER_MINUTE) });
  let lookUps = 0;
  const { accounts } = server.store;
  const findKey = accounts.findKey.bind(accounts);
  Object.assign(accounts, {
    findKey: (hash: Buffer) => {
      lookUps += 1;
      return findKey(hash);
    },
  });
  const guess = async () => {
    const caller = server.grpc.withKey(generateKey());
    const { code } = await caller.failure(Pets.listPets, { ids: [], pageToken: '' });
    caller.close();
    return code;
  };
  const minute = () => Math.floor(Date.now() / 60_000);
  const first = minute();
  const codes: Code[] = [];
  for (let i = 0; i < GUESSES; i += 1) codes.push(await guess());
  const allowed = PER_MINUTE * (minute() - first + 1);
  const refused = codes.filter((code) => code === Code.UNAUTHENTICATED).length;
  // Their connection, which they share, is ended after 200 calls: the next one may find it gone.
  const ended = codes.filter((code) => code === Code.UNAVAILABLE).length;
  t.true(ended < GUESSES / 100, `${ended} found their connection ended`);
  t.is(codes.filter((code) => code === Code.RESOURCE_EXHAUSTED).length, GUESSES - refused - ended);
  t.true(refused > 0 && refused <= allowed, `${refused} were answered as guesses`);
  t.true(lookUps > 0 && lookUps <= allowed, `${lookUps} look-ups`);
});

testUnless<TestStack>(noNamespaces)(
  'Streams of events - those of a reader that has vanished end within a minute, so that its account may open others',
  async (t) => {
    t.timeout(120_000);
    const { operator, publicAddress, rest } = t.context;
    const key = await operator.keyOf({ perMinute: 1_000, perDay: 1_000 });
    const { host, port } = targetOf(publicAddress, '127.0.0.1');
    const open = async (localAddress: string) => {
      const socket = connect({ host, port, localAddress }).on('error', () => undefined);
      t.teardown(() => socket.destroy());
      socket.write(`GET /events/stream HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer ${key}\r\n\r\n`);
      const [head] = await once(socket, 'data');
      return Number(`${head}`.slice(9, 12));
    };
    const address = `127.77.${process.pid % 250}.7`;
    const statuses = await Promise.all(Array.from({ length: 10 }, () => open(address)));
    t.deepEqual(new Set(statuses), new Set([200]));
    t.teardown(loseAllTo(address));
    t.is(await open('127.0.0.1'), 429);
    await until(async () => (await open('127.0.0.1')) === 200, 'a place', 75_000);
    t.is((await rest.get('/pets')).status, 200);
  },
);

test('Proxies - requests that one caller resets end no connection, which has those of all callers', async (t) => {
  const { publicAddress, key } = t.context;
  const session = await sessionOf(t, targetOf(publicAddress, '127.0.0.1'));
  const post = {
    ':method': 'POST',
    ':path': '/pets',
    'content-type': 'application/json',
    'x-forwarded-for': '8.8.4.4',
  };
  for (let round = 0; round < 60 && !session.closed; round += 1) {
    const streams = Array.from({ length: 50 }, () => session.request(post).on('error', () => undefined));
    await delay(5);
    for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
    await Promise.all(streams.map((stream) => stream.closed || once(stream, 'close')));
  }
  t.is((await exchange(session, { ':path': '/pets', authorization: `Bearer ${key}` })).status, 200);
});
