import { createClient, type PetstoreError, type TlsOptions } from '../../gen/client/index.ts';
import { makeCertificates, noOpenssl, startTlsFront } from '../support/machine/tls.ts';
import { sharing } from '../support/service/sharing.ts';
import { startTestStack } from '../support/service/stack.ts';

const test = sharing(noOpenssl, async (t) => {
  const [stack, certificates] = await Promise.all([startTestStack(t), makeCertificates(t)]);
  const read = (name: string) => certificates.read(`${name}.pem`);
  const tls = { ca: await read('ca'), cert: await read('client'), key: await read('client-key') };
  const stranger = { cert: await read('stranger'), key: await read('stranger-key') };
  const front = await startTlsFront(t, stack.config.port, certificates);
  return { ...stack, front, tls, stranger };
});

type Tls = boolean | TlsOptions | undefined;

function open(address: string, tls: Tls, apiKey = 'k') {
  return createClient({ address, apiKey, maxAttempts: 1, ...(tls === undefined ? {} : { tls }) });
}

test('tls - a server and a client of the private authority are needed, by host, https:// or http://', async (t) => {
  const { key: apiKey, front, publicAddress, tls, stranger } = t.context;
  const { ca, cert, key } = tls;
  const asText = { ca: String(ca), cert: String(cert), key: String(key) };
  const byIp = front.replace('localhost', '127.0.0.1');
  const plain = publicAddress.replace('127.0.0.1', 'localhost');
  const cases: readonly (readonly [expected: string, address: string, Tls?])[] = [
    ['OK', front, tls],
    ['OK', front, asText],
    ['OK', `https://${front}`, tls],
    ['OK', byIp, { ...tls, serverName: 'localhost' }],
    ['OK', `http://${publicAddress}/`],
    ['UNAVAILABLE', byIp, { ...tls, serverName: 'other.example' }],
    ['UNAVAILABLE', front, { ...tls, ca: stranger.cert }],
    ['UNAVAILABLE', front, { ca }],
    ['UNAVAILABLE', front, { ca, ...stranger }],
    ['UNAVAILABLE', front, true], // the well-known authorities
    ['UNAVAILABLE', `https://${front}`],
    ['UNAVAILABLE', plain, true], // a server without TLS
    ['UNAVAILABLE', 'http://127.0.0.1'], // on port 80
  ];
  for (const [expected, address, given] of cases) {
    const client = open(address, given, apiKey);
    const call = client.pets.listPets({}, { timeoutMs: 60_000 });
    t.is(await call.then(() => 'OK').catch(({ code }: PetstoreError) => code), expected, address);
    await client.close();
  }
});

test('tls - an IP address without a name, and certificates that are none, are refused at once', (t) => {
  const { front, tls } = t.context;
  const message = "tls.serverName must say a name of the server's certificate, because 127.0.0.1 is an IP address";
  t.throws(() => open(front.replace('localhost', '127.0.0.1'), tls), { instanceOf: TypeError, message });
  t.throws(() => open('https://127.0.0.1:1', undefined), { instanceOf: TypeError, message });
  t.throws(() => open('[::1]:443', true), { message: /because ::1 is an IP address/ });
  t.throws(() => open(front, { cert: tls.cert }));
  t.throws(() => open(front, { cert: 'nonsense', key: tls.key }));
});

test('address - one that is none is refused at once, with what to write', (t) => {
  const refused = { instanceOf: TypeError, message: /^address must be "https:\/\/host" for TLS/ };
  const addresses = ['https://host/v1', 'https://user:secret@host', 'grpc://host:1', 'https://', 'http://host:x'];
  for (const address of addresses) t.throws(() => open(address, undefined), refused, address);
  t.throws(() => open('http://host', true), refused);
  t.throws(() => open('https://host', false), refused);
});
