/** TRUSTED_PROXIES: whose X-Forwarded-For is believed, and what of it. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { ClientHttp2Stream } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import { status as Status } from '@grpc/grpc-js';
import anyTest, { type TestFn } from 'ava';
import { accessLog } from '../../src/launcher/paths.ts';
import { exceedsLimit, FEW_REQUESTS, isFirst } from '../support/allowances.ts';
import { callFrom, type Door, openFrom, PROTOCOLS } from '../support/callers.ts';
import { grpcFrame, grpcHeaders, openSession, targetOf } from '../support/hostile/sockets.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { until } from '../support/until.ts';

const test = anyTest as TestFn<TestStack & { door: Door }>;

const PROXY = '127.0.0.2';
const NEAR_PROXY = '127.0.1.9'; // of a network

test.before(async (t) => {
  const stack = await startTestStack({ ...FEW_REQUESTS, TRUSTED_PROXIES: `${PROXY},127.0.1.0/24` });
  t.context = { ...stack, door: { port: stack.config.port } };
});
test.after.always((t) => t.context.close());

/** More headers than a request may have. */
const TOO_MANY = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`x-${index}`, '1']));

/** Addresses for documentation (RFC 5737), no two tests the same. */
let last = 0;
const newAddress = () => {
  last += 1;
  return `198.51.100.${last}`;
};
const forwardedFor = (text: string) => ({ headers: { 'x-forwarded-for': text } });

for (const protocol of PROTOCOLS) {
  test(`Trusted proxies - each caller behind one has an allowance of its own, over ${protocol}`, async (t) => {
    const { door } = t.context;
    const [one, another] = [newAddress(), newAddress()];
    t.true(isFirst(await callFrom(PROXY, door, protocol, forwardedFor(one))));
    t.true(await exceedsLimit(() => callFrom(PROXY, door, protocol, forwardedFor(one))));
    t.true(isFirst(await callFrom(PROXY, door, protocol, forwardedFor(another))));
  });

  test(`Trusted proxies - a caller that is none can not set its address, over ${protocol}`, async (t) => {
    const from = { 'HTTP/1.1': '127.0.2.1', 'HTTP/2': '127.0.2.2', gRPC: '127.0.2.3' }[protocol];
    const send = () => callFrom(from, t.context.door, protocol, forwardedFor(newAddress()));
    t.true(isFirst(await send()));
    t.true(await exceedsLimit(send));
  });

  test(`Trusted proxies - what a caller behind one writes itself is not believed, over ${protocol}`, async (t) => {
    const caller = newAddress();
    const send = () => callFrom(PROXY, t.context.door, protocol, forwardedFor(`${newAddress()}, ${caller}`));
    t.true(isFirst(await send()));
    t.true(await exceedsLimit(send));
  });
}

test('Trusted proxies - callers that connect by themselves have allowances of their own', async (t) => {
  const { door } = t.context;
  t.true(await exceedsLimit(() => callFrom('127.0.2.4', door, 'HTTP/1.1')));
  t.true(isFirst(await callFrom('127.0.2.5', door, 'HTTP/1.1')));
});

/** Whether two requests with these headers count as those of one caller, each from the one of two proxies. */
async function areOne(door: Door, first: string, second: string): Promise<boolean> {
  const before = await callFrom(PROXY, door, 'HTTP/1.1', forwardedFor(first));
  const after = await callFrom(NEAR_PROXY, door, 'HTTP/1.1', forwardedFor(second));
  const isNextMinute = before.headers.get('x-ratelimit-reset') !== after.headers.get('x-ratelimit-reset');
  return isNextMinute ? areOne(door, first, second) : !isFirst(after);
}

test('Trusted proxies - the caller is the last that is none, however many there are on the way', async (t) => {
  const { door } = t.context;
  const caller = newAddress();
  t.true(await areOne(door, caller, `${newAddress()}, ${caller}, 127.0.1.7, ${PROXY}`));
  t.true(await areOne(door, caller, `${caller},127.0.1.7 ,  ::ffff:127.0.1.8`));
  t.false(await areOne(door, caller, `${caller}, ${newAddress()}, 127.0.1.7`));
});

test('Trusted proxies - an IPv4-mapped address is its IPv4, and a /64 is one', async (t) => {
  const { door } = t.context;
  const [one, another] = [newAddress(), newAddress()];
  t.true(await areOne(door, one, `::ffff:${one}`));
  t.false(await areOne(door, `::ffff:${one}`, `::ffff:${another}`));
  t.true(await areOne(door, '2001:db8::1', '2001:db8:0:0:1:2:3:4'));
  t.false(await areOne(door, '2001:db8:0:1::1', '2001:db8:0:2::1'));
});

test('Trusted proxies - without an address that can be read the caller is the proxy', async (t) => {
  for (const text of ['unknown', '', `${newAddress()}, unknown`, `${newAddress()}:4000`, '_hidden, 10.0.0']) {
    const send = () => callFrom(PROXY, t.context.door, 'HTTP/1.1', forwardedFor(text));
    t.true(await exceedsLimit(send), text);
  }
});

test('Trusted proxies - every refusal counts against the caller, also one by Envoy', async (t) => {
  const { door } = t.context;
  const json = { 'content-type': 'application/json' };
  for (const sent of [
    { method: 'POST', body: '{', headers: json }, // judged before its body is read
    { method: 'POST', path: '/nope' }, // refused by Envoy, which asks the server
    { path: '/pets/abc' },
    { path: '/pets', headers: { authorization: `Bearer pst_${'0'.repeat(38)}` } },
  ]) {
    const headers = { ...sent.headers, ...forwardedFor(newAddress()).headers };
    t.true(isFirst(await callFrom(PROXY, door, 'HTTP/1.1', { ...sent, headers })), JSON.stringify(sent));
    t.true(await exceedsLimit(() => callFrom(PROXY, door, 'HTTP/1.1', { ...sent, headers })), JSON.stringify(sent));
  }
});

test('Trusted proxies - what may be open at a time is counted for each caller behind one', async (t) => {
  const { publicAddress } = t.context;
  const target = targetOf(publicAddress, PROXY);
  const sessions = await Promise.all([openSession(target), openSession(target)]);
  const watch = async (index: number, caller: string) => {
    const headers = { ...grpcHeaders('/grpc.health.v1.Health/Watch'), ...forwardedFor(caller).headers };
    const stream = sessions[index % sessions.length]?.request(headers);
    stream?.end(grpcFrame());
    const [answer] = await once(stream as ClientHttp2Stream, 'response');
    return answer['grpc-status'] ?? 'open';
  };
  const one = newAddress();
  const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => watch(index, one)));
  t.is(answers.filter((answer) => answer === 'open').length, 50);
  t.is(answers.filter((answer) => answer === String(Status.RESOURCE_EXHAUSTED)).length, 10);
  t.is(await watch(0, newAddress()), 'open');
  for (const session of sessions) session.destroy();
});

test('Trusted proxies - a broken request ends alone, not the others on its connection', async (t) => {
  const session = await openSession(targetOf(t.context.publicAddress, PROXY));
  const headers = { ...forwardedFor(newAddress()).headers, authorization: `Bearer ${t.context.key}` };
  const other = session.request({
    ':method': 'POST',
    ':path': '/pets',
    'content-type': 'application/json',
    ...headers,
  });
  const answered = once(other, 'response');
  other.write('{');
  for (const broken of [{ ':authority': 'a b' }, { ':path': 'a b' }, { 'content-length': 'x' }, TOO_MANY]) {
    const stream = session.request({ ':path': '/pets', ...broken });
    stream.on('error', () => undefined).resume(); // it is reset
    await new Promise((resolve) => stream.on('close', resolve));
    t.not(stream.rstCode, 0, Object.keys(broken).join());
  }
  other.end('}');
  const [answer] = await answered;
  t.is(answer[':status'], 400); // it has no name
  session.destroy();
});

test('Trusted proxies - a connection is kept for longer than proxies keep one', async (t) => {
  const socket = openFrom(PROXY, t.context.door);
  let answers = 0;
  socket.on('data', (chunk: Buffer) => {
    answers += chunk.toString().split('HTTP/1.1 200 OK').length - 1;
  });
  for (const pauseMs of [12_000, 0]) {
    const before = answers;
    socket.write('GET /healthz HTTP/1.1\r\nHost: petstore\r\n\r\n');
    await until(() => answers > before || socket.closed, 'the answer');
    await delay(pauseMs); // others are closed after 10 s
  }
  t.is(answers, 2);
  socket.destroy();
});

test('Trusted proxies - the access log names the caller, and what it says of itself is in no log', async (t) => {
  const { door, config } = t.context;
  const [caller, said] = [newAddress(), newAddress()];
  const { headers } = await callFrom(PROXY, door, 'HTTP/1.1', forwardedFor(`${said}, ${caller}`));
  const id = headers.get('x-request-id') ?? '';
  const lines = async () => (await readFile(accessLog(config), 'utf8')).split('\n');
  const line = await until(async () => (await lines()).find((text) => text.includes(id)), 'the line of the log');
  t.is(JSON.parse(line).client, caller);
  t.false(line.includes(said));
});

test('Trusted proxies - a request id and headers of Envoy are not the callers to set', async (t) => {
  const { headers } = await callFrom(PROXY, t.context.door, 'HTTP/1.1', {
    headers: {
      ...forwardedFor('0.0.0.0').headers, // what Envoy would take for inside, if anything
      'x-request-id': 'mine',
      'x-envoy-upstream-rq-timeout-ms': '1',
      authorization: `Bearer ${t.context.key}`,
    },
  });
  t.regex(headers.get('x-request-id') ?? '', /^[\da-f-]{36}$/);
});

test('Trusted proxies - a caller with a key is answered, whatever the proxy says of the way', async (t) => {
  const { status } = await callFrom(PROXY, t.context.door, 'HTTP/1.1', {
    headers: {
      ...forwardedFor(newAddress()).headers,
      ...{ 'x-forwarded-proto': 'https', 'x-forwarded-host': 'petstore.example', 'x-forwarded-port': '443' },
      authorization: `Bearer ${t.context.key}`,
    },
  });
  t.is(status, 200);
});
