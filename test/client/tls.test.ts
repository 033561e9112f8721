import { createClient, type PetstoreError, type TlsOptions } from '../../gen/client/index.ts';
import { makeCertificates, noOpenssl, startTlsFront } from '../support/machine/tls.ts';
import { sharing } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';

const test = sharing(noOpenssl, async (t) => {
  const [stack, certificates] = await Promise.all([startTestStack(t), makeCertificates(t)]);
  const read = (name: string) => certificates.read(`${name}.pem`);
  const own = { ca: await read('ca'), cert: await read('client'), key: await read('client-key') };
  const stranger = await read('stranger');
  const others = { otherCa: stranger, otherCert: stranger, otherKey: await read('stranger-key') };
  const front = await startTlsFront(t, stack.config.port, certificates);
  return { ...stack, front, pem: { ...own, ...others } };
});

/** How a call ends: OK, or the error's code. */
async function outcome(
  { key: apiKey }: { readonly key: string },
  address: string,
  tls?: boolean | TlsOptions,
): Promise<string> {
  const client = createClient({ address, apiKey, maxAttempts: 1, ...(tls === undefined ? {} : { tls }) });
  const end = client.pets.listPets({}, { timeoutMs: 60_000 }).then(
    () => 'OK',
    (error: PetstoreError) => error.code,
  );
  return end.finally(() => client.close());
}

test('tls - a server and a client of the private authority are needed, by host, https:// or http://', async (t) => {
  const { front, publicAddress, pem } = t.context;
  const { ca, cert, key, otherCa, otherCert, otherKey } = pem;
  const tls = { ca, cert, key };
  const asText = { ca: String(ca), cert: String(cert), key: String(key) };
  const byIp = front.replace('localhost', '127.0.0.1');
  const plain = publicAddress.replace('127.0.0.1', 'localhost');
  const cases: readonly (readonly [string, string, (boolean | TlsOptions)?])[] = [
    ['OK', front, tls],
    ['OK', front, asText],
    ['OK', `https://${front}`, tls],
    ['OK', byIp, { ...tls, serverName: 'localhost' }],
    ['OK', `http://${publicAddress}/`],
    ['UNAVAILABLE', byIp, { ...tls, serverName: 'other.example' }],
    ['UNAVAILABLE', front, { ...tls, ca: otherCa }],
    ['UNAVAILABLE', front, { ca }],
    ['UNAVAILABLE', front, { ca, cert: otherCert, key: otherKey }],
    ['UNAVAILABLE', front, true], // the well-known authorities
    ['UNAVAILABLE', `https://${front}`],
    ['UNAVAILABLE', plain, true], // a server without TLS
    ['UNAVAILABLE', 'http://127.0.0.1'], // on port 80
  ];
  for (const [expected, address, given] of cases) t.is(await outcome(t.context, address, given), expected, address);
});

test('tls - an IP address without a name, and certificates that are none, are refused at once', (t) => {
  const { front, pem } = t.context;
  const { ca, cert, key } = pem;
  const open = (address: string, tls?: TlsOptions | boolean) => () =>
    createClient({ address, apiKey: 'k', ...(tls === undefined ? {} : { tls }) });
  const address = front.replace('localhost', '127.0.0.1');
  const message = "tls.serverName must say a name of the server's certificate, because 127.0.0.1 is an IP address";
  t.throws(open(address, { ca, cert, key }), { instanceOf: TypeError, message });
  t.throws(open('https://127.0.0.1:1'), { instanceOf: TypeError, message });
  t.throws(open('[::1]:443', true), { message: /because ::1 is an IP address/ });
  t.throws(open(front, { cert }));
  t.throws(open(front, { cert: 'nonsense', key }));
});

test('address - one that is none is refused at once, with what to write', (t) => {
  const refused = { instanceOf: TypeError, message: /^address must be "https:\/\/host" for TLS/ };
  const addresses = ['https://host/v1', 'https://user:secret@host', 'grpc://host:1', 'https://', 'http://host:x'];
  for (const address of addresses) t.throws(() => createClient({ address, apiKey: 'k' }), refused, address);
  t.throws(() => createClient({ address: 'http://host', apiKey: 'k', tls: true }), refused);
  t.throws(() => createClient({ address: 'https://host', apiKey: 'k', tls: false }), refused);
});
