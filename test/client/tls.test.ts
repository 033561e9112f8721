import { createClient, type PetstoreClient, type PetstoreError, type TlsOptions } from '../../src/client/index.ts';
import { testUnless } from '../support/programs.ts';
import { startTestStack, type TestStack } from '../support/stack.ts';
import { type Certificates, makeCertificates, noOpenssl, startTlsFront, type TlsFront } from '../support/tls.ts';

const test = testUnless<TestStack & { certificates: Certificates; front: TlsFront }>(noOpenssl);

test.before(async (t) => {
  const [stack, certificates] = await Promise.all([startTestStack(), makeCertificates()]);
  t.context = { ...stack, certificates, front: await startTlsFront(stack.config.port, certificates) };
});
test.after.always(async ({ context }) => {
  await context.front.close();
  await context.certificates.remove();
  await context.close();
});

async function identity({ certificates }: { certificates: Certificates }, name: string): Promise<TlsOptions> {
  return { cert: await certificates.read(`${name}.pem`), key: await certificates.read(`${name}-key.pem`) };
}

/** How a call ends: OK, or the error's code. */
async function outcome(client: PetstoreClient): Promise<string> {
  const end = client.pets.listPets({}, { timeoutMs: 60_000 }).then(
    () => 'OK',
    (error: PetstoreError) => error.code,
  );
  const code = await end;
  await client.close();
  return code;
}

test('tls - works with a private authority and a client certificate', async (t) => {
  const { front, key: apiKey, certificates } = t.context;
  const ca = await certificates.read('ca.pem');
  const tls = { ca, ...(await identity(t.context, 'client')) };
  t.is(await outcome(createClient({ address: front.address, apiKey, tls })), 'OK');
  const asText = { ca: ca.toString(), cert: String(tls.cert), key: String(tls.key) };
  t.is(await outcome(createClient({ address: front.address, apiKey, tls: asText })), 'OK');
});

test('tls - a server of another authority, or without TLS, is UNAVAILABLE', async (t) => {
  const { front, publicAddress, key: apiKey, certificates } = t.context;
  const own = await identity(t.context, 'client');
  const otherCa = await certificates.read('stranger.pem');
  const options = { address: front.address, apiKey, maxAttempts: 1 };
  t.is(await outcome(createClient({ ...options, tls: { ca: otherCa, ...own } })), 'UNAVAILABLE');
  t.is(await outcome(createClient({ ...options, tls: true })), 'UNAVAILABLE', 'the well-known authorities');
  t.is(
    await outcome(createClient({ ...options, address: publicAddress.replace('127.0.0.1', 'localhost'), tls: true })),
    'UNAVAILABLE',
  );
});

test('tls - a client without a certificate, or with one of another authority, is refused', async (t) => {
  const { front, key: apiKey, certificates } = t.context;
  const ca = await certificates.read('ca.pem');
  const options = { address: front.address, apiKey, maxAttempts: 1 };
  t.is(await outcome(createClient({ ...options, tls: { ca } })), 'UNAVAILABLE');
  const stranger = await identity(t.context, 'stranger');
  t.is(await outcome(createClient({ ...options, tls: { ca, ...stranger } })), 'UNAVAILABLE');
});

test('tls - an IP address needs serverName, a name of the certificate', async (t) => {
  const { front, key: apiKey, certificates } = t.context;
  const tls = { ca: await certificates.read('ca.pem'), ...(await identity(t.context, 'client')) };
  const address = front.address.replace('localhost', '127.0.0.1');
  const message = "tls.serverName must say a name of the server's certificate, because 127.0.0.1 is an IP address";
  t.throws(() => createClient({ address, apiKey, tls }), { instanceOf: TypeError, message });
  t.throws(() => createClient({ address: '[::1]:443', apiKey, tls: true }), {
    message: /because ::1 is an IP address/,
  });
  t.is(await outcome(createClient({ address, apiKey, tls: { ...tls, serverName: 'localhost' } })), 'OK');
  const other = createClient({ address, apiKey, tls: { ...tls, serverName: 'other.example' }, maxAttempts: 1 });
  t.is(await outcome(other), 'UNAVAILABLE');
});

test('tls - a certificate without its key, and text that is no certificate, are refused at once', async (t) => {
  const { front, key: apiKey } = t.context;
  const { cert, key } = (await identity(t.context, 'client')) as Required<TlsOptions>;
  t.throws(() => createClient({ address: front.address, apiKey, tls: { cert } }));
  t.throws(() => createClient({ address: front.address, apiKey, tls: { cert: 'nonsense', key } }));
});

test('tls - https:// means TLS, http:// none, each with its port', async (t) => {
  const { front, publicAddress, key: apiKey, certificates } = t.context;
  const tls = { ca: await certificates.read('ca.pem'), ...(await identity(t.context, 'client')) };
  t.is(await outcome(createClient({ address: `https://${front.address}`, apiKey, tls })), 'OK');
  t.is(await outcome(createClient({ address: `http://${publicAddress}/`, apiKey })), 'OK');
  t.is(await outcome(createClient({ address: `https://${front.address}`, apiKey, maxAttempts: 1 })), 'UNAVAILABLE');
  const { hostname } = new URL(`http://${publicAddress}`);
  t.is(await outcome(createClient({ address: `http://${hostname}`, apiKey, maxAttempts: 1 })), 'UNAVAILABLE');
});

test('address - one that is none is refused at once, with what to write', (t) => {
  const refused = { instanceOf: TypeError, message: /^address must be "https:\/\/host" for TLS/ };
  const addresses = ['https://host/v1', 'https://user:secret@host', 'grpc://host:1', 'https://', 'http://host:x'];
  for (const address of addresses) t.throws(() => createClient({ address, apiKey: 'k' }), refused, address);
  t.throws(() => createClient({ address: 'http://host', apiKey: 'k', tls: true }), refused);
  t.throws(() => createClient({ address: 'https://host', apiKey: 'k', tls: false }), refused);
  t.throws(() => createClient({ address: 'https://127.0.0.1:1', apiKey: 'k' }), { message: /tls\.serverName/ });
});

test('apiKey - an empty one is refused at once, and said to be empty', (t) => {
  const refused = { instanceOf: TypeError, message: 'apiKey is empty: set it to your key' };
  t.throws(() => createClient({ address: 'host:1', apiKey: '' }), refused);
});
