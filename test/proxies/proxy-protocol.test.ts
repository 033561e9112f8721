/** PROXY_PROTOCOL: whose header is trusted. */
import { callFrom, openFrom } from '../support/calls/callers.ts';
import { stackTest } from '../support/service/shared-stack.ts';
import { exceedsLimit, FEW_REQUESTS, isFirst, newAddress } from './allowances.ts';

const PROXY = '127.0.0.2';
const test = stackTest({ ...FEW_REQUESTS, PROXY_PROTOCOL: 'yes', TRUSTED_PROXIES: `${PROXY},127.0.0.3` });

const V1 = (address: string) => `PROXY TCP4 ${address} 127.0.0.1 40000 8080\r\n`;
const V1_WITHOUT_ADDRESS = 'PROXY UNKNOWN\r\n';
const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n');
const V2_WITHOUT_ADDRESS = Buffer.concat([SIGNATURE, Buffer.of(0x20, 0, 0, 0)]);

/** TCP over IPv4, from an address, to 127.0.0.1:8080. */
function V2(address: string): Buffer {
  const addresses = [...address.split('.').map(Number), 127, 0, 0, 1, 0x9c, 0x40, 0x1f, 0x90];
  return Buffer.concat([SIGNATURE, Buffer.of(0x21, 0x11, 0, addresses.length, ...addresses)]);
}

test('PROXY protocol - without an address in the header, as in health checks, the caller is the proxy', async (t) => {
  const { port } = t.context.config;
  t.true(await exceedsLimit(() => callFrom('127.0.0.3', { port, preface: V1_WITHOUT_ADDRESS }, 'HTTP/1.1')));
  t.true(await exceedsLimit(() => callFrom('127.0.0.3', { port, preface: V2_WITHOUT_ADDRESS }, 'HTTP/1.1')));
});

test('PROXY protocol - X-Forwarded-For counts only if the header names a trusted proxy', async (t) => {
  const { port } = t.context.config;
  const [caller, claimed] = [newAddress(), newAddress()];
  const headers = { 'x-forwarded-for': claimed };
  const send = (from: string) => callFrom(PROXY, { port, preface: V1(from) }, 'HTTP/1.1', { headers });
  t.true(isFirst(await send(caller)));
  t.true(await exceedsLimit(() => send(caller)));
  t.true(isFirst(await send('127.0.0.3')));
  t.true(await exceedsLimit(() => callFrom(PROXY, { port, preface: V1(claimed) }, 'HTTP/1.1')));
});

/** Whether a connection is closed without a response to a request. */
async function isClosed(from: string, port: number, preface: string | Uint8Array): Promise<boolean> {
  const socket = openFrom(from, { port, preface });
  let hasResponse = false;
  socket.on('error', () => undefined); // "close" follows
  socket.on('data', () => {
    hasResponse = true;
  });
  socket.write('GET /healthz HTTP/1.1\r\nHost: petstore\r\nConnection: close\r\n\r\n');
  await new Promise((resolve) => socket.on('close', resolve));
  return !hasResponse;
}

test('PROXY protocol - an untrusted address can not connect, whatever its header', async (t) => {
  const { port } = t.context.config;
  for (const header of [V1(newAddress()), V2(newAddress()), V1(PROXY), V1_WITHOUT_ADDRESS, V2_WITHOUT_ADDRESS, '']) {
    t.true(await isClosed('127.0.0.4', port, header), JSON.stringify(header.toString()));
  }
  t.false(await isClosed(PROXY, port, V1(newAddress())));
});
