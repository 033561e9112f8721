/** TRUSTED_PROXIES: whose X-Forwarded-For is trusted, and which of its addresses. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { accessLog } from '../../src/platform/launcher/paths.ts';
import { callFrom, type Door, openFrom } from '../support/calls/callers.ts';
import { openSession, targetOf } from '../support/calls/http2.ts';
import { stackTest } from '../support/service/shared-stack.ts';
import type { TestStack } from '../support/service/stack.ts';
import { until } from '../support/until.ts';
import { exceedsLimit, FEW_REQUESTS, isFirst, newAddress } from './allowances.ts';

const PROXY = '127.0.0.2';
const NEAR_PROXY = '127.0.1.9'; // in the trusted network
const test = stackTest({ ...FEW_REQUESTS, TRUSTED_PROXIES: `${PROXY},127.0.1.0/24` });
const doorOf = ({ config }: TestStack): Door => ({ port: config.port });

/** More headers than a request may have. */
const TOO_MANY = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`x-${index}`, '1']));

const forwardedFor = (text: string) => ({ headers: { 'x-forwarded-for': text } });
const call = (stack: TestStack, text: string, from = PROXY) =>
  callFrom(from, doorOf(stack), 'HTTP/1.1', forwardedFor(text));

test('Trusted proxies - an untrusted caller can not set its address, over HTTP/1.1', async (t) => {
  const send = () => call(t.context, newAddress(), '127.0.2.1');
  t.true(isFirst(await send()));
  t.true(await exceedsLimit(send));
});

/** Sends a request through each of two proxies. Resolves with whether both count for one caller. */
async function isSameCaller(stack: TestStack, first: string, second: string): Promise<boolean> {
  const before = await call(stack, first);
  const after = await call(stack, second, NEAR_PROXY);
  const isNextMinute = before.headers.get('x-ratelimit-reset') !== after.headers.get('x-ratelimit-reset');
  return isNextMinute ? isSameCaller(stack, first, second) : !isFirst(after);
}

test('Trusted proxies - the caller is the last untrusted address, however many proxies follow', async (t) => {
  const caller = newAddress();
  t.true(await isSameCaller(t.context, caller, `${newAddress()}, ${caller}, 127.0.1.7, ${PROXY}`));
  t.true(await isSameCaller(t.context, caller, `${caller},127.0.1.7 ,  ::ffff:127.0.1.8`));
  t.false(await isSameCaller(t.context, caller, `${caller}, ${newAddress()}, 127.0.1.7`));
});

test('Trusted proxies - without a valid address the caller is the proxy', async (t) => {
  for (const text of ['unknown', '', `${newAddress()}, unknown`, `${newAddress()}:4000`, '_hidden, 10.0.0']) {
    t.true(await exceedsLimit(() => call(t.context, text)), text);
  }
});

test('Trusted proxies - a caller with more addresses than Envoy reads does not count as the proxy', async (t) => {
  const proxy = '127.0.1.20';
  const caller = newAddress();
  const chain = (length: number) => [...Array(length - 1).fill(newAddress()), caller].join(', ');
  t.true(isFirst(await call(t.context, chain(20), proxy)));
  for (const length of [21, 500]) t.true(await exceedsLimit(() => call(t.context, chain(length), proxy)));
  t.true(isFirst(await callFrom(proxy, doorOf(t.context), 'HTTP/1.1')));
});

test('Trusted proxies - a malformed request does not affect others on its connection', async (t) => {
  const session = await openSession(targetOf(t.context.publicAddress, PROXY));
  const headers = { ...forwardedFor(newAddress()).headers, authorization: `Bearer ${t.context.key}` };
  const post = { ':method': 'POST', ':path': '/pets', 'content-type': 'application/json' };
  const other = session.request({ ...post, ...headers });
  const responded = Promise.race([once(other, 'response'), once(session, 'close')]);
  other.write('{');
  for (const malformed of [{ ':authority': 'a b' }, { ':path': 'a b' }, { 'content-length': 'x' }, TOO_MANY]) {
    const stream = session.request({ ':path': '/pets', ...malformed });
    stream.on('error', () => undefined).resume(); // it is reset
    await new Promise((resolve) => stream.on('close', resolve));
    t.not(stream.rstCode, 0, Object.keys(malformed).join());
  }
  other.end('}');
  const [response] = await responded;
  t.is(response?.[':status'], 400); // it has no name
  session.destroy();
});

test('Trusted proxies - an idle connection stays open longer than proxies keep one', async (t) => {
  const socket = openFrom(PROXY, doorOf(t.context));
  let responses = 0;
  socket.on('data', (chunk: Buffer) => {
    responses += chunk.toString().split('HTTP/1.1 200 OK').length - 1;
  });
  for (const pauseMs of [12_000, 0]) {
    const before = responses;
    socket.write('GET /healthz HTTP/1.1\r\nHost: petstore\r\n\r\n');
    await until(() => responses > before || socket.closed, 'the response');
    await delay(pauseMs); // connections of other callers are closed after 10 s
  }
  t.is(responses, 2);
  socket.destroy();
});

test('Trusted proxies - callers can not set headers of Envoy, the request id or the logged address', async (t) => {
  const { config, key } = t.context;
  const caller = newAddress();
  const sent = {
    ...forwardedFor(`10.0.0.1, ${caller}`).headers,
    ...{ 'x-request-id': 'mine', 'x-envoy-upstream-rq-timeout-ms': '1', 'x-forwarded-proto': 'https' },
    ...{ 'x-forwarded-host': 'petstore.example', 'x-forwarded-port': '443', 'x-envoy-original-path': '/pets?x' },
    authorization: `Bearer ${key}`,
  };
  t.is((await callFrom(PROXY, doorOf(t.context), 'gRPC', { headers: sent })).status, 200);
  const { status, headers } = await callFrom(PROXY, doorOf(t.context), 'HTTP/1.1', { headers: sent });
  t.is(status, 200);
  const id = headers.get('x-request-id') ?? '';
  t.regex(id, /^[\da-f-]{36}$/);
  const lines = async () => (await readFile(accessLog(config), 'utf8')).split('\n');
  const line = await until(async () => (await lines()).find((text) => text.includes(id)), 'the line of the log');
  t.is(JSON.parse(line).client, caller);
  t.false(line.includes('10.0.0.1'));
});
